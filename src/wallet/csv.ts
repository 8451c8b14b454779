// Comma-separated values that a spreadsheet opens safely: RFC 4180 with every text in quotes, lines that end in CRLF, and
// no text of somebody else's that a spreadsheet would run as a formula.

// A spreadsheet takes a file without this mark for one in the machine's own code page, and garbles every letter outside of
// ASCII. Programs read the list, which is JSON.
export const BYTE_ORDER_MARK = '\uFEFF'

// What a formula begins with, also in the wide letters that some spreadsheets read as the plain ones.
const FORMULA = /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/

/** A text that came from outside: an apostrophe makes a spreadsheet show it instead of running it. */
export function untrustedCell(text: string): string {
  return quoted(FORMULA.test(text) ? `'${text}` : text)
}

/** Our own numbers and times, in which a minus is a minus. */
export function trustedCell(text: string): string {
  return quoted(text)
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`
}

export function csvLine(cells: readonly string[]): string {
  return `${cells.join(',')}\r\n`
}
