// The form of a payment link: the payer's input, its problem, and how both return for correction. The URL carries the
// problem; name and e-mail are personal data and stay in a cookie for two minutes.

import { containsCardNumber } from '../../core/card-number.ts'
import { type Money, money } from '../../core/money.ts'
import { isEmail, isPersonName } from '../../core/text/formats.ts'
import type { LinkRow } from '../../links/link.ts'
import type { LinkView, Payer } from '../../links/pay.ts'

import { readTypedAmount } from './amount.ts'

export const FIELDS = ['amount', 'firstname', 'lastname', 'email'] as const
export type Field = (typeof FIELDS)[number]

/** Each concerns one field, except `refused` and `closed`, which concern the payment. */
export const PROBLEMS = {
  amount: 'amount',
  amountLow: 'amount',
  amountHigh: 'amount',
  firstname: 'firstname',
  firstnameCard: 'firstname',
  lastname: 'lastname',
  lastnameCard: 'lastname',
  email: 'email',
  refused: null,
  closed: null,
} as const satisfies Record<string, Field | null>

export type Problem = keyof typeof PROBLEMS
type Texts = Readonly<Record<string, string>>

export interface LinkForm {
  typed: Readonly<Record<Field, string>>
  problems: readonly Problem[]
}

/** The payer and the amount, or the problems to correct. */
export function readPayer(
  { link, asksEmail }: Pick<LinkView, 'link' | 'asksEmail'>,
  form: Texts,
): Omit<Payer, 'formToken'> | Problem[] {
  const firstname = readName(form.firstname)
  const lastname = readName(form.lastname)
  const email = asksEmail ? (form.email ?? '').normalize('NFC').trim() : null
  const amount = readAmount(link, form.amount ?? '')
  const problems = [
    ...(typeof amount === 'string' ? [amount] : []),
    ...nameProblems('firstname', firstname),
    ...nameProblems('lastname', lastname),
    ...(email === null || (isEmail(email) && !containsCardNumber(email)) ? [] : (['email'] as const)),
  ]
  return typeof amount === 'string' || problems.length > 0 ? problems : { firstname, lastname, email, amount }
}

/** Names as the API takes them: one line, in NFC. */
function readName(text = ''): string {
  return text.normalize('NFC').replaceAll(/\s+/g, ' ').trim()
}

function nameProblems(field: 'firstname' | 'lastname', name: string): Problem[] {
  if (!isPersonName(name)) return [field]
  return containsCardNumber(name) ? [`${field}Card`] : []
}

function readAmount(link: LinkRow, text: string): Money | 'amount' | 'amountLow' | 'amountHigh' {
  const { currency, amountMinor, minAmountMinor, maxAmountMinor } = link
  if (amountMinor !== null) return money(amountMinor, currency)
  const amount = readTypedAmount(text, currency)
  if (!amount) return 'amount'
  if (minAmountMinor !== null && amount.minor < minAmountMinor) return 'amountLow'
  return maxAmountMinor !== null && amount.minor > maxAmountMinor ? 'amountHigh' : amount
}

const TYPED_COOKIE = 'cowry_payer'
// Long enough for a slow network, short enough for a shared phone.
const TYPED_SECONDS = 120
const MAX_LENGTHS = { amount: 30, firstname: 100, lastname: 100, email: 254 } as const
// The size limit of a cookie, minus its name and path.
const MAX_COOKIE = 3_500

/** Redirects back to the form with the problem. */
export function redirectWithProblem(path: string, form: Texts, problems: readonly Problem[]) {
  const typed = JSON.stringify(
    // The cut may split a surrogate pair.
    FIELDS.map((field) => (form[field] ?? '').slice(0, MAX_LENGTHS[field]).toWellFormed()),
  )
  const fitsCookie = encodeURIComponent(typed).length <= MAX_COOKIE
  return {
    http: 303,
    redirectTo: `${path}?problem=${problems.join('.')}`,
    cookies: fitsCookie ? [{ name: TYPED_COOKIE, value: typed, path, maxAgeSeconds: TYPED_SECONDS }] : [],
  }
}

/** Deletes the typed text as soon as the form is correct. */
export function clearTypedCookie(path: string) {
  return { name: TYPED_COOKIE, value: '', path, maxAgeSeconds: 0 }
}

export function readForm(query: Texts, cookies: Texts): LinkForm {
  const named = (query.problem ?? '').split('.', Object.keys(PROBLEMS).length)
  const problems = named.filter((name): name is Problem => Object.hasOwn(PROBLEMS, name))
  const typed = problems.length > 0 ? readTyped(cookies[TYPED_COOKIE] ?? '') : []
  const textOf = (field: Field) => typed[FIELDS.indexOf(field)]?.slice(0, MAX_LENGTHS[field]) ?? ''
  return {
    problems,
    typed: {
      amount: textOf('amount'),
      firstname: textOf('firstname'),
      lastname: textOf('lastname'),
      email: textOf('email'),
    },
  }
}

/** The browser stores it, so it can be any text. */
function readTyped(text: string): string[] {
  try {
    const texts: unknown = JSON.parse(text)
    return Array.isArray(texts) ? texts.map((one) => (typeof one === 'string' ? one : '')) : []
  } catch {
    return []
  }
}
