// Who acted on a case: operators by name, people of the merchant by name where the area knows it, API keys by id.

import { peopleIn } from '../../../core/text/operator-names.ts'
import { type Html, type HtmlValue, html } from '../../../kit/http/html.ts'
import { written } from '../../frame/components.ts'
import { loadNames } from '../../frame/names.ts'
import type { AreaRequest } from '../../frame/screen.ts'
import type { Texts } from '../../frame/texts.ts'

/** The name of a person of the merchant. */
export type NameOf = (userId: string | null) => HtmlValue

/** Operators do not see the teams of merchants. */
export async function namesIn(request: AreaRequest): Promise<NameOf> {
  if (request.base === '/app') return loadNames(request)
  return (id) => id && html`${request.texts.t('actor_user')} <code>${id}</code>`
}

export function peopleOf(by: string | null, texts: Texts, nameOf: NameOf): Html | null {
  if (by === null) return null
  return html`${peopleIn(by).map((one, index) => html`${index > 0 && html`<br>`}${personOf(one, texts, nameOf)}`)}`
}

function personOf(by: string, texts: Texts, nameOf: NameOf): Html {
  const [, kind = by, name = ''] = /^(operator|user|key):(.*)$/s.exec(by) ?? []
  if (kind === 'user') return html`${nameOf(name)}`
  if (kind === 'key') return html`${texts.t('actor_api_key')} <code>${name}</code>`
  if (name === '') return html`${texts.word('actor', kind)}`
  return html`${written(name)} <span class="dim">${texts.t('actor_operator')}</span>`
}

/**
 * The API writes the note of the person who approved behind that of the other, as `Approved by`, the person and the note.
 * `by` are the people who decided: the last one has approved.
 */
export function noteLines(note: string | null, by: string | null, texts: Texts, nameOf: NameOf): Html | null {
  if (note === null) return null
  const approver = peopleIn(by ?? '').at(-1) ?? ''
  const mark = `\nApproved by ${approver}: `
  const at = note.indexOf(mark)
  if (at < 0) return linesOf(note)
  const who = html`${texts.t('caseApprovedBy')} ${personOf(approver, texts, nameOf)}`
  return html`${linesOf(note.slice(0, at))}<br>${who}: ${linesOf(note.slice(at + mark.length))}`
}

const linesOf = (text: string) =>
  html`${text.split('\n').map((line, index) => html`${index > 0 && html`<br>`}${written(line)}`)}`
