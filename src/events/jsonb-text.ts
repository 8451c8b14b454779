// The text of a value as PostgreSQL writes jsonb: names by length and then by bytes, a space after colon and comma, numbers
// without an exponent. An event that is stored in another form is sent with the same bytes as one stored as jsonb.

export function jsonbText(value: unknown): string {
  if (typeof value === 'number') return numberText(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(jsonbText).join(', ')}]`
  // A boundary: it is an object of JSON.
  const object = value as Record<string, unknown>
  const names = Object.keys(object).sort(byLengthAndBytes)
  return `{${names.map((name) => `${JSON.stringify(name)}: ${jsonbText(object[name])}`).join(', ')}}`
}

function byLengthAndBytes(one: string, other: string): number {
  const difference = Buffer.byteLength(one) - Buffer.byteLength(other)
  return difference === 0 ? Buffer.compare(Buffer.from(one), Buffer.from(other)) : difference
}

const WITH_EXPONENT = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/

function numberText(value: number): string {
  const text = JSON.stringify(value)
  const [, sign = '', whole, fraction = '', exponent] = WITH_EXPONENT.exec(text) ?? []
  if (whole === undefined) return text
  const digits = whole + fraction
  // JavaScript writes an exponent from 1e21 on and below 1e-6.
  const point = Number(exponent) + 1
  return sign + (point > 0 ? digits.padEnd(point, '0') : `0.${'0'.repeat(-point)}${digits}`)
}
