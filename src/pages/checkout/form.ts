// The form of the open checkout: the payer's input, its problem, and how both survive POST, 303, GET. The URL carries
// the choice and the problem; the typed text is personal data and is kept in a cookie.

import type { findOffer } from '../../checkout/offer.ts'
import { findNetwork, guessNetwork } from '../../core/networks.ts'
import { CHANNELS, type Channel, type CheckoutChoice } from '../../gateways/gateway.ts'
import { isPhoneProblem, type PhoneProblem, phoneProblem, readPhone } from '../../kit/phone.ts'

/** The input that the open screen shows again. */
export interface FormState {
  channel: Channel | null
  network: string | null
  phone: string
  problem: Problem | null
}

export type Problem =
  | { kind: 'choice' | 'network' }
  | { kind: 'phone'; reason: PhoneProblem }
  /** The merchant blocks this payer. */
  | { kind: 'refused' }
  /** When the number may be prompted again: after too many prompts, or when the prompt that is open there ends by itself. */
  | { kind: 'wait' | 'busy'; until: Date }
  /** When the visitor may have another number prompted through this link. */
  | { kind: 'visitor'; until: Date }

/** What the checkout offers to the payer. */
export type Offer = Awaited<ReturnType<typeof findOffer>>

type Texts = Readonly<Record<string, string>>

/** The choice as a gateway takes it, or the problem with it. */
export function readChoice(offer: Offer, form: Texts): CheckoutChoice | Problem {
  const channel = offer.channels.find((one) => one === form.channel)
  if (!channel) return { kind: 'choice' }
  const instrument = readInstrument(offer, channel, form[instrumentField(channel)] ?? '')
  const contact = readContact(offer, channel, form)
  if ('kind' in contact) return contact
  if (channel !== 'mobile_money') return { channel, instrument, ...contact }
  const choice = readWallet(offer, form)
  if ('kind' in choice) return choice
  return { instrument, ...contact, ...choice }
}

/** Each channel has its own field, because browsers also send the fields of the other channels. */
export const contactField = (channel: Channel) => `${channel}_phone`

/** The number that the provider wants of every payer, of any country. */
function readContact(
  offer: Offer,
  channel: Channel,
  form: Texts,
): Pick<CheckoutChoice, 'contactPhone'> | Problem {
  if (!offer.contactChannels.includes(channel)) return {}
  const text = form[contactField(channel)] ?? ''
  const phone = readPhone(text, offer.country)
  return phone
    ? { contactPhone: phone.e164 }
    : { kind: 'phone', reason: phoneProblem(text, offer.country) ?? 'not_a_number' }
}

type WalletChoice = Pick<CheckoutChoice, 'channel' | 'phone' | 'network'>

/** The network and the number to prompt; no number for a network with a page of its own. */
function readWallet(offer: Offer, form: Texts): WalletChoice | Problem {
  const channel = 'mobile_money'
  const { networks } = offer
  const [only] = networks.length === 1 ? networks : []
  const named = networks.find(({ code }) => code === form.network)
  if (form.network && networks.length > 0 && !named) return { kind: 'network' }
  const chosen = named ?? only
  if (chosen && (chosen.hasPage || !offer.asksPhone)) return { channel, network: chosen.code }
  if (!offer.asksPhone) return networks.length === 0 ? { channel } : { kind: 'network' }
  const phone = readPhone(form.phone ?? '', offer.country)
  const reason = phoneProblem(form.phone ?? '', offer.country)
  // The networks of a country prompt only numbers of that country.
  const isAllowed = phone !== undefined && (networks.length === 0 || phone.country === offer.country)
  if (!isAllowed) return { kind: 'phone', reason: reason ?? 'foreign' }
  const network = chosen ?? networkFromPrefix(offer, phone.e164)
  if (!network && networks.length > 0) return { kind: 'network' }
  return { channel, phone: phone.e164, network: network?.code }
}

/** A guess only where every network has prefixes: any number can have a wallet without prefixes, such as Wave. */
function networkFromPrefix({ networks, country }: PhoneOffer, e164: string) {
  if (country === null || networks.some(({ prefixes }) => prefixes.length === 0)) return undefined
  const guess = guessNetwork(e164, country)
  return networks.find(({ code, hasPage }) => code === guess?.code && !hasPage)
}

type PhoneOffer = Pick<Offer, 'networks' | 'country'>

/** The network that a number suggests, for the script that selects it while the payer types. */
export function networkOfPhone(offer: PhoneOffer, text: string): string | null {
  const phone = readPhone(text, offer.country)
  return (phone && networkFromPrefix(offer, phone.e164)?.code) ?? null
}

/** Each channel has its own field, because browsers also send the fields of the other channels. */
export function instrumentField(channel: Channel): string {
  return `${channel}_instrument`
}

function readInstrument(offer: Offer, channel: Channel, name: string): string | undefined {
  return offer.instruments.find((one) => one.name === name && one.channel === channel)?.name
}

const TYPED_COOKIE = 'cowry_typed'
// Longer than a prompt waits for its PIN, so that a payer who is declined need not type the number again; short enough
// for a shared phone.
const TYPED_SECONDS = 900
const MAX_TYPED = 40

/** Redirects back to the form with the problem. */
export function redirectWithProblem(path: string, form: Texts, problem: Problem) {
  const query = new URLSearchParams({ problem: problem.kind })
  if (problem.kind === 'phone') query.set('reason', problem.reason)
  if ('until' in problem) query.set('until', String(Math.ceil(problem.until.getTime() / 1_000)))
  if (form.channel) query.set('channel', form.channel.slice(0, MAX_TYPED))
  if (form.network) query.set('network', form.network.slice(0, MAX_TYPED))
  return { http: 303, redirectTo: `${path}?${query}`, cookies: typedCookies(path, form) }
}

/** Keeps the typed number for the next form in this browser. */
export function typedCookies(path: string, form: Texts) {
  // The cut may split a surrogate pair.
  const typed = form.phone || CHANNELS.map((channel) => form[contactField(channel)]).find(Boolean)
  const phone = (typed ?? '').slice(0, MAX_TYPED).toWellFormed()
  return phone === '' ? [] : [{ name: TYPED_COOKIE, value: phone, path, maxAgeSeconds: TYPED_SECONDS }]
}

export function readFormState(
  channels: readonly Channel[],
  query: Texts,
  cookies: Texts,
  now: Date,
): FormState {
  const problem = readProblem(query, now)
  return {
    channel: channels.find((one) => one === query.channel) ?? null,
    network: findNetwork(query.network ?? '')?.code ?? null,
    phone: (cookies[TYPED_COOKIE] ?? '').slice(0, MAX_TYPED),
    problem,
  }
}

const WAITS = ['wait', 'busy', 'visitor'] as const

const MAX_WAIT_MS = 86_400_000

function readProblem({ problem, reason, until }: Texts, now: Date): Problem | null {
  if (problem === 'choice' || problem === 'network' || problem === 'refused') return { kind: problem }
  if (problem === 'phone') return isPhoneProblem(reason) ? { kind: 'phone', reason } : null
  const kind = WAITS.find((one) => one === problem)
  if (!kind || !/^\d{1,11}$/.test(until ?? '')) return null
  const waitMs = Number(until) * 1_000 - now.getTime()
  return waitMs > 0 && waitMs <= MAX_WAIT_MS ? { kind, until: new Date(now.getTime() + waitMs) } : null
}
