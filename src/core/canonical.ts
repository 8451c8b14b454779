// Values of JSON.

/** With sorted keys: equal contents have equal texts. Idempotency compares a repeated request with the first by it. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value === 'bigint') return String(value)
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  // A boundary: an object that is not an array has string keys.
  const fields = value as Record<string, unknown>
  let text = ''
  for (const key of Object.keys(fields).sort()) {
    if (fields[key] === undefined) continue
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${canonicalJson(fields[key])}`
  }
  return `{${text}}`
}

/** Whether the value is an object with fields: neither null nor an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
