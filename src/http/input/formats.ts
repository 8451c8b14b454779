// The string formats of input schemas, with the message for a string that does not match. They are our own, because
// gateways refuse values that the usual libraries accept (upper-case UUIDs, quoted e-mail names).

import { isUuid } from '../../core/ids.ts'
import { hasVisibleText, isEmail, isPersonName } from '../../core/text/formats.ts'

interface TextFormat {
  matches: (text: string) => boolean
  /** The rest of a sentence that begins with the field name. */
  message: string
}

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/
const TIME = /^([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/

function isDate(text: string): boolean {
  const match = DATE.exec(text)
  if (!match) return false
  const [year = 0, month = 0, day = 0] = match.slice(1).map(Number)
  return year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= daysInMonth(year, month)
}

function daysInMonth(year: number, month: number): number {
  const isLeapYear = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  if (month === 2) return isLeapYear ? 29 : 28
  return [4, 6, 9, 11].includes(month) ? 30 : 31
}

export const FORMATS: Readonly<Record<string, TextFormat>> = {
  email: { matches: isEmail, message: 'must be an e-mail address, such as ama@example.com.' },
  'person-name': {
    matches: isPersonName,
    message: 'must be a name, with no characters that turn the direction of writing.',
  },
  'visible-text': { matches: hasVisibleText, message: 'must have at least one visible character.' },
  uuid: {
    matches: isUuid,
    message: 'must be a UUID in lower case, such as 0197a3c2-7d51-7cc3-98c4-dc0c0c07398f.',
  },
  uri: {
    matches: (text) => URL.canParse(text),
    message: 'must be a URL, such as https://example.com/thanks.',
  },
  date: { matches: isDate, message: 'must be a date, such as 2026-01-31.' },
  'date-time': {
    matches: (text) => isDate(text.slice(0, 10)) && text[10] === 'T' && TIME.test(text.slice(11)),
    message: 'must be an ISO 8601 time with a zone, such as 2026-01-31T08:30:00.000Z.',
  },
}
