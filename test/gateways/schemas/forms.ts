// Forms and queries with nested names in brackets, as Stripe reads them: a[b]=1, list[0][c]=2, list[]=3.

type Value = string | Value[] | { [name: string]: Value }

/** The nested value; all leaves are text. Names that are numbers or empty make an array. */
export function decodeForm(fields: URLSearchParams): Record<string, Value> {
  const root: Record<string, Value> = {}
  for (const [name, value] of fields) place(root, splitName(name), value)
  return Object.fromEntries(Object.entries(root).map(([name, value]) => [name, toArrays(value)]))
}

/** `a[b][]` is a, b and an empty name. */
function splitName(name: string): string[] {
  const [first = '', ...rest] = name.split('[')
  return [first, ...rest.map((part) => part.replace(/\]$/, ''))]
}

function place(object: Record<string, Value>, [name = '', ...rest]: string[], value: string): void {
  const key = name === '' ? String(Object.keys(object).length) : name
  if (rest.length === 0) {
    if (key in object) throw new Error(`a form has ${key} twice`)
    object[key] = value
    return
  }
  object[key] ??= {}
  const inner = object[key]
  if (typeof inner === 'string' || Array.isArray(inner))
    throw new Error(`a form has ${key} as a text and an object`)
  place(inner, rest, value)
}

function toArrays(value: Value): Value {
  if (typeof value === 'string' || Array.isArray(value)) return value
  const entries = Object.entries(value).map(([name, inner]) => [name, toArrays(inner)] as const)
  const isArray = entries.every(([name], index) => name === String(index))
  return isArray ? entries.map(([, inner]) => inner) : Object.fromEntries(entries)
}
