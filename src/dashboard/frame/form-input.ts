// What people write in forms: fields with the errors of the API, amounts as people write them, and the action of a form.

import { ApiError } from '../../core/errors.ts'
import { type Html, html } from '../../kit/http/html.ts'
import type { Choice } from './components.ts'
import { type Labels, labelledIssues } from './issues.ts'
import type { ScreenResponse } from './screen.ts'

/**
 * The number that a person wrote, with a point or a comma. The API refuses what is no number, and with it 1.500, which is
 * fifteen hundred to some people and one and a half to others.
 */
export function readAmount(text = ''): number | string {
  const plain = text.replaceAll(/[\s\u00a0\u202f]/g, '')
  const decimal = /^\d+,\d{1,2}$/.test(plain)
    ? plain.replace(',', '.')
    : plain.replaceAll(/,(?=\d{3}(?:\D|$))/g, '')
  const isClear = /^\d+(?:\.\d+)?$/.test(decimal) && !/^\d{1,3}\.\d{2}0$/.test(decimal)
  return isClear ? Number(decimal) : text
}

/** The errors of fields, by name. */
export function fieldErrors(problem: ApiError | undefined, labels: Labels): Partial<Record<string, string>> {
  const issues = problem ? labelledIssues(problem, labels) : []
  return Object.fromEntries(issues.map(({ name, text }) => [name, text]))
}

interface SelectOptions {
  value?: string
  hint?: string
  error?: string
}

export function selectField(
  name: string,
  label: string,
  choices: readonly Choice[],
  { value = '', hint, error }: SelectOptions = {},
): Html {
  const notes = [error && `${name}-error`, hint && `${name}-hint`].filter(Boolean).join(' ')
  return html`<div class="field"><label for="${name}">${label}</label>
<select id="${name}" name="${name}"${notes && html` aria-describedby="${notes}"`}${error && html` aria-invalid="true"`}>${choices.map(
    (choice) =>
      html`<option value="${choice.value}"${choice.value === value && html` selected`}>${choice.label}</option>`,
  )}</select>
${error && html`<p class="error" id="${name}-error">${error}</p>`}${hint && html`<p class="hint" id="${name}-hint">${hint}</p>`}</div>`
}

/** Runs the action of a form; if the API refuses it, the screen is shown again with the reason. */
export async function orShowProblem(
  act: () => Promise<ScreenResponse>,
  show: (problem: ApiError) => ScreenResponse | Promise<ScreenResponse>,
): Promise<ScreenResponse> {
  try {
    return await act()
  } catch (error) {
    if (error instanceof ApiError) return show(error)
    throw error
  }
}
