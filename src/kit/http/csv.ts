// Writes CSV that a spreadsheet opens safely: RFC 4180, every text quoted, lines ending in CRLF, and no untrusted text that
// a spreadsheet would run as a formula (CSV injection).

// Without this mark a spreadsheet assumes the machine's code page and garbles every letter outside of ASCII. Programs read
// the JSON list instead.
export const BYTE_ORDER_MARK = '\uFEFF'

// The first characters of formulas, including the full-width forms that some spreadsheets accept.
const FORMULA = /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/

/** For text from outside: a leading apostrophe makes a spreadsheet show a formula instead of running it. */
export function untrustedCell(text: string): string {
  return quoted(FORMULA.test(text) ? `'${text}` : text)
}

/** For our own numbers and times, where a leading minus is a sign. */
export function trustedCell(text: string): string {
  return quoted(text)
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`
}

export function csvLine(cells: readonly string[]): string {
  return `${cells.join(',')}\r\n`
}
