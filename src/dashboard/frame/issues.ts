// What the API says about the fields of a form or a filter, with the labels that people see instead of its names.

import { ApiError } from '../../core/errors.ts'

/** The labels of a form by the names of the API. An entry of a list has the label of the list. */
export type Labels = Readonly<Partial<Record<string, string>>>

/** Of forms that have buttons alone. */
export const NO_FIELDS: Labels = {}

interface LabelledIssue {
  /** The name of the field whose label it has, or else the name in the API. */
  name: string
  label: string
  text: string
}

export function labelledIssues({ details }: Pick<ApiError, 'details'>, labels: Labels): LabelledIssue[] {
  return details.map(({ field, message }) => {
    const name = knownName(field, labels)
    return { name, label: labels[name] ?? field, text: sentence(message, field, labels) }
  })
}

/** The field, or the nearest one around it, that has a label. */
function knownName(field: string, labels: Labels): string {
  const parts = field.split('.')
  const around = parts.map((_, dropped) => parts.slice(0, parts.length - dropped).join('.'))
  return around.find((name) => labels[name] !== undefined) ?? field
}

/** Without the name of the field, which the label replaces; other fields that it names have their labels. */
function sentence(message: string, field: string, labels: Labels): string {
  const rest = message.startsWith(`${field} `) ? message.slice(field.length + 1) : message
  const quoted = (name: string) => (labels[name] === undefined ? name : `“${labels[name]}”`)
  const compared = rest.replace(
    /\b(than|before) (\w+)(?=\.$)/,
    (_all, word: string, other: string) => `${word} ${quoted(other)}`,
  )
  // Names such as minAmount are no words of a sentence.
  const named = compared.replaceAll(/\b[a-z]+[A-Z]\w*\b/g, quoted)
  return named.charAt(0).toUpperCase() + named.slice(1)
}

/** Whether the API refused a field of these labels, such as a filter that a person has written into the address. */
export function isAbout(error: unknown, labels: Labels): error is ApiError {
  return error instanceof ApiError && error.details.some(({ field }) => labels[field] !== undefined)
}

/** Whether the message of the error only repeats what its first issue says. */
export function repeatsIssues({ message, details: [first] }: ApiError): boolean {
  return first !== undefined && message.startsWith(first.message)
}
