// Text that other people wrote: payers, merchants' systems, providers, the servers of webhook endpoints. An agent reads it,
// so it may hold instructions to the agent. Tools put it under the key `untrusted`, without characters that cannot be
// seen, and never longer than a limit.

const MAX_LENGTH = 300
/** The longest text of our own, such as the meaning of a resolution. */
const MAX_OWN_LENGTH = 1_000

// Control, format (direction, zero width, tags), private and unassigned characters, and the two line separators of Unicode:
// people do not see them, and models read them. The rest of the ignorable ones, such as fillers, likewise.
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}\u2028\u2029]+/gu

// They only choose the form of the character before them, and hundreds of them can spell a hidden text. A space in their
// place would split words.
const VARIATION = /\p{Variation_Selector}+/gu

export function cleanText(text: string, maxLength = MAX_LENGTH): string {
  const visible = text.toWellFormed().replaceAll(VARIATION, '').replaceAll(INVISIBLE, ' ').trim()
  return visible.length > maxLength ? `${visible.slice(0, maxLength - 1).toWellFormed()}…` : visible
}

/** An id, such as order-1042. Short, with a digit and without white space it is hardly a sentence, so it needs no mark. */
const IDENTIFIER = /^(?=.*\d)[\w-]{1,40}$/

function isIdentifier(text: string): boolean {
  return IDENTIFIER.test(text)
}

type Untrusted = Readonly<Record<string, unknown>>

/** `{ untrusted: … }` with the fields that have a value; nothing if none has. */
export function untrusted(fields: Untrusted): { untrusted?: Record<string, string> } {
  const present = Object.entries(fields).flatMap(([name, value]) => {
    const text = typeof value === 'string' ? value : isEmpty(value) ? '' : JSON.stringify(value)
    const cleaned = cleanText(text)
    return cleaned === '' ? [] : [[name, cleaned] as const]
  })
  return present.length > 0 ? { untrusted: Object.fromEntries(present) } : {}
}

function isEmpty(value: unknown): boolean {
  return (
    value === null || value === undefined || (typeof value === 'object' && Object.keys(value).length === 0)
  )
}

type Names = Readonly<Record<string, string | null | undefined>>

/** Names of a record that its creator chose: those that are identifiers as they are, the others for `untrusted`. */
export function separateNames(names: Names): { own: Names; others: Names } {
  const given = Object.entries(names).filter(([, text]) => text !== null && text !== undefined)
  const isOwn = ([, text]: [string, unknown]) => typeof text === 'string' && isIdentifier(text)
  return {
    own: Object.fromEntries(given.filter(isOwn)),
    others: Object.fromEntries(given.filter((one) => !isOwn(one))),
  }
}

/** The last step before an answer is sent: no invisible character and no text without a limit in any field. */
export function cleanValue(value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value, MAX_OWN_LENGTH)
  if (Array.isArray(value)) return value.map(cleanValue)
  return typeof value === 'object' && value !== null ? cleanFields(value) : value
}

export function cleanFields(fields: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([, inner]) => inner !== undefined)
      .map(([key, inner]) => [key, cleanValue(inner)]),
  )
}
