// What a transcript may show: the provider's fields and values, without secrets and without anything about a person.

import { containsCardNumber } from '../../../src/core/card-number.ts'

export interface Secrets {
  /** The values of the credentials, by name. */
  credentials: Readonly<Record<string, string>>
  /** The phone number of the person who pays, E.164; null if none was given. */
  phone: string | null
  /** The address at which the provider reaches the run. */
  publicUrl: string
}

export const SHOWN_PUBLIC_URL = 'https://pay.example.com'

const SECRET_FIELD =
  /token|secret|passw|passkey|signature|credential|api_?key|access_?code|authori[sz]ation_?code|client_?secret|hash|cvv|otp|pin$/i
const PERSONAL_FIELD = /phone|msisdn|partyid|partya|e-?mail|name$|(^|_)ip(_address)?$|address|bin$/i
// Names of things, not of people.
const NAMES_OF_THINGS =
  /^(event_?name|display_?name|display_name|merchant_?name|bank_?name|network_?name|plan_?name)$/i
const MIN_SECRET_LENGTH = 4
const MAX_TEXT = 2_000

/** The body as an object without secrets, or as a text without them if it is neither JSON nor a form. */
export function redactBody(body: string, secrets: Secrets): unknown {
  if (body === '') return null
  const parsed = parseJson(body) ?? parseForm(body)
  return parsed === undefined ? redactText(body.slice(0, MAX_TEXT), secrets) : redactValue(parsed, secrets)
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

function parseForm(body: string): Record<string, string> | undefined {
  return /^[^=&\s<>]+=[^&\s<>]*(&[^=&\s<>]+=[^&\s<>]*)*$/.test(body)
    ? Object.fromEntries(new URLSearchParams(body))
    : undefined
}

function redactValue(value: unknown, secrets: Secrets, field = ''): unknown {
  if (value === null || typeof value === 'boolean') return value
  if (Array.isArray(value)) return value.map((one) => redactValue(one, secrets, field))
  if (typeof value === 'object') return redactFields(value, secrets)
  if (SECRET_FIELD.test(field)) return '<secret>'
  if (isPersonal(field) && value !== '') return '<personal>'
  if (typeof value === 'string') return redactText(value, secrets)
  return typeof value === 'number' ? redactNumber(value, secrets) : String(value)
}

function redactFields(value: object, secrets: Secrets): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [redactText(name, secrets), redactValue(one, secrets, name)]),
  )
}

function isPersonal(field: string): boolean {
  return PERSONAL_FIELD.test(field) && !NAMES_OF_THINGS.test(field)
}

/** A phone number may be sent as a number. */
function redactNumber(value: number, secrets: Secrets): unknown {
  const text = redactText(String(value), secrets)
  return text === String(value) ? value : text
}

/** The text without credentials, phone numbers, e-mail addresses, card numbers and the addresses of pages and callbacks. */
export function redactText(text: string, { credentials, phone, publicUrl }: Secrets): string {
  const withoutSecrets = Object.entries(credentials)
    .filter(([, value]) => value.length >= MIN_SECRET_LENGTH)
    .toSorted(([, one], [, other]) => other.length - one.length)
    .reduce((rest, [name, value]) => rest.replaceAll(value, `<${name}>`), text)
  const shown = withoutSecrets
    .replaceAll(publicUrl, SHOWN_PUBLIC_URL)
    .replaceAll(/(\/hooks\/[a-z0-9_]+\/)[\w/-]+/g, '$1<secret>')
    .replaceAll(/[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g, '<e-mail>')
  const withoutPhone = phone === null ? shown : phoneForms(phone).reduce(replaceNumber, shown)
  return containsCardNumber(withoutPhone) ? '<digits>' : withoutPhone
}

/** With and without the plus sign, and the last nine digits, which every national form ends with. */
function phoneForms(phone: string): string[] {
  const digits = phone.replaceAll(/\D/g, '')
  return [`+${digits}`, digits, digits.slice(-9)]
}

function replaceNumber(text: string, form: string): string {
  return text.replaceAll(form, '<phone>')
}

/** The address of a page without what lets its holder pay. */
export function redactPageUrl(url: string): string {
  const { origin, pathname } = new URL(url)
  return pathname === '/' ? origin : `${origin}/<secret>`
}
