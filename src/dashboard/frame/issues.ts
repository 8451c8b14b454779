// What the API says about the fields of a form or a filter, with the labels that people see instead of its names.

import type { ApiError } from '../../core/errors.ts'

/** The labels of a form by the names of the API. An entry of a list has the label of the list. */
export type Labels = Readonly<Partial<Record<string, string>>>

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

function knownName(field: string, labels: Labels): string {
  const [list = ''] = field.split('.')
  return labels[field] === undefined && labels[list] !== undefined ? list : field
}

/** Without the name of the field, which the label replaces; another field that it is compared with has its label. */
function sentence(message: string, field: string, labels: Labels): string {
  const rest = message.startsWith(`${field} `) ? message.slice(field.length + 1) : message
  const named = rest.replace(/\b(than|before) (\w+)(?=\.$)/, (all, word: string, other: string) => {
    const label = labels[other]
    return label === undefined ? all : `${word} “${label}”`
  })
  return named.charAt(0).toUpperCase() + named.slice(1)
}

/** Whether the message of the error only repeats what its first issue says. */
export function repeatsIssues({ message, details: [first] }: ApiError): boolean {
  return first !== undefined && message.startsWith(first.message)
}
