// What a checkout offers to the payer, and which gateways can take an attempt, in the order in which they are tried. Each
// channel is collected by the first gateway that has it, so a gateway with mobile money alone hides no cards.

import { ApiError } from '../core/errors.ts'
import { type Network, networksOf } from '../core/networks.ts'
import { isPlaceholderEmail } from '../core/text/placeholder-email.ts'
import { type Channel, type CheckoutChoice, type Instrument, isDirect } from '../gateways/gateway.ts'
import type { Candidate } from '../gateways/registry.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { customerPhoneOf } from '../payments/gateway-request.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { isOnPage, isPromptable, phoneRequired, promptOf, requirePromptable } from './phone-prompts.ts'

interface CheckoutOffer {
  /** The gateways behind the offer, without direct transfers. */
  gateways: readonly Pick<Candidate, 'gateway' | 'accountId'>[]
  channels: readonly Channel[]
  instruments: readonly Instrument[]
  country: string | null
  /** A gateway of mobile money prompts the phone, so our page asks for the number; otherwise the gateway's page does. */
  asksPhone: boolean
  /** The channels whose gateway wants a number of every payer: our page asks for it, and no prompt is sent to it. */
  contactChannels: readonly Channel[]
  /** The networks to choose from, the largest first; empty if the payer chooses on the gateway's page. */
  networks: readonly OfferedNetwork[]
  /** Our page shows the account of a bank transfer; otherwise the gateway's page does. */
  showsAccount: boolean
  /** The channels that only the sandbox has in this place. */
  testOnlyChannels: readonly Channel[]
  /** The gateway can charge a card again, so a card is saved with the payer's consent. */
  savesCards: boolean
  /** The gateway of mobile money can charge it again if the payer agrees. */
  savesMobileMoney: boolean
}

interface OfferedNetwork extends Network {
  /** The payer pays on the page or in the app of the network, and types no number here. */
  hasPage: boolean
  /** Only the sandbox reaches it. */
  isTestOnly: boolean
  /** The gateway that collects from it can charge the number again. */
  isSaved: boolean
}

export async function findOffer(app: PaymentsApp, payment: PaymentRow): Promise<CheckoutOffer> {
  const candidates = await listCandidates(app, payment)
  const shown = shownCandidates(candidates.filter((one) => !isP2p(one)))
  const networks = offeredNetworks(shown, payment)
  const channels = [...new Set([...shown, ...candidates.filter(isP2p)].flatMap((one) => one.channels))]
  return {
    gateways: shown,
    channels,
    contactChannels: channels.filter((channel) => {
      const first = shown.find(has(channel))
      return first !== undefined && !hasItsPhone(payment, { channel })(first)
    }),
    instruments: shown[0]?.gateway.instruments ?? [],
    country: payment.country,
    asksPhone: networks !== null && (networks.length === 0 || networks.some(({ hasPage }) => !hasPage)),
    networks: networks ?? [],
    showsAccount: isShownAccount(shown.find(has('bank_transfer'))),
    testOnlyChannels: shown.flatMap(({ ways }) =>
      ways.filter(({ testOnly }) => testOnly?.channel).map(({ channel }) => channel),
    ),
    savesCards: shown.find(has('card'))?.gateway.chargeSaved !== undefined,
    savesMobileMoney: savesNumbers(shown, networks),
  }
}

/** Where no network is known, all numbers go to the first gateway. */
function savesNumbers(shown: readonly Candidate[], networks: readonly OfferedNetwork[] | null): boolean {
  if (networks === null) return false
  if (networks.length > 0) return networks.some(({ isSaved }) => isSaved)
  return shown.find(has('mobile_money'))?.ways.some(({ saves }) => saves) ?? false
}

const has =
  (channel: Channel) =>
  ({ channels }: Candidate) =>
    channels.includes(channel)

/** The payer's money goes to the merchant's own account, not through us. */
const isP2p = ({ gateway }: Candidate) => gateway.settlesDirectly === true

/** The sandbox adds no channels to those of configured gateways. */
function shownCandidates(candidates: readonly Candidate[]): Candidate[] {
  return candidates.filter(({ gateway }, index) => index === 0 || gateway.instruments === undefined)
}

function isShownAccount(candidate: Candidate | undefined): boolean {
  return candidate?.ways.find(({ channel }) => channel === 'bank_transfer')?.collection === 'transfer'
}

/**
 * The networks that gateways reach: by their prompt or page, or else on the page of a gateway for all networks. Null if
 * the first gateway of mobile money is such a page, where the payer chooses.
 */
function offeredNetworks(
  shown: readonly Candidate[],
  { country }: Pick<PaymentRow, 'country'>,
): OfferedNetwork[] | null {
  const ways = shown.flatMap((one) => one.ways.filter(({ channel }) => channel === 'mobile_money'))
  const [first] = ways
  if (!first || isForAll(first)) return null
  return networksOf(country).flatMap((network) => {
    const way = ways.find(({ networks }) => networks.includes(network)) ?? ways.find(isForAll)
    if (!way) return []
    const isTestOnly = way.testOnly?.networks.includes(network.code) ?? false
    const hasPage = way.collection === 'page' || isOnPage(way, network.code)
    return [{ ...network, hasPage, isTestOnly, isSaved: way.saves === true }]
  })
}

const isForAll = ({ collection, networks }: Candidate['ways'][number]) =>
  collection === 'page' && networks.length === 0

/** The gateway of the checkout or of its last attempt first, if it still serves the merchant; then the others. */
async function listCandidates(app: PaymentsApp, payment: PaymentRow): Promise<Candidate[]> {
  const { merchantId, currency, country, amountMinor, reference: key } = payment
  const candidates = await app.gateways.candidates(merchantId, { currency, country, amountMinor, key })
  const isChosen = ({ gateway }: Candidate) => gateway.name === payment.gateway
  return [...candidates.filter(isChosen), ...candidates.filter((one) => !isChosen(one))].filter(
    hasItsEmail(payment),
  )
}

/** Without the payer's e-mail address, a payment goes to no gateway that is sent one. The sandbox sends no mail. */
const hasItsEmail =
  ({ customerEmail }: PaymentRow) =>
  ({ gateway }: Candidate) =>
    !isPlaceholderEmail(customerEmail) ||
    gateway.behavior.worksWithoutEmail === true ||
    gateway.instruments !== undefined ||
    gateway.settlesDirectly === true

/** Without a number of the payer, a payment goes to no gateway that wants one. */
const hasItsPhone =
  (payment: PaymentRow, choice: CheckoutChoice) =>
  ({ ways }: Candidate) =>
    customerPhoneOf(payment, choice) !== undefined ||
    !ways.some(({ channel, needsPhone }) => channel === choice.channel && needsPhone)

/** The candidates that offer the chosen channel and network, in order. The payer's input must satisfy the first of them. */
export async function requireOffered(
  app: PaymentsApp,
  payment: PaymentRow,
  choice: CheckoutChoice,
): Promise<Candidate[]> {
  // No failover between a gateway and the merchant's own account.
  const listed = await listCandidates(app, payment)
  const candidates = listed.filter((one) => isP2p(one) === isDirect(choice.channel))
  // A test instrument belongs to the sandbox, so no other gateway is tried with it.
  const sandboxed = candidates.filter(({ gateway }) => choice.instrument !== undefined && gateway.instruments)
  const considered = sandboxed.length > 0 ? sandboxed : candidates
  const shown = shownCandidates(considered)
  const having = shown.filter(has(choice.channel))
  const first = having.find((one) => reachesNetwork(one, choice)) ?? having[0]
  if (!first) {
    throw new ApiError('validation_failed', {
      details: [{ field: 'channel', code: 'not_allowed', message: 'This way to pay is not offered here.' }],
    })
  }
  requirePromptable(first, choice, offeredNetworks(shown, payment) ?? [])
  if (!hasItsPhone(payment, choice)(first)) throw phoneRequired()
  const able = considered
    .filter(has(choice.channel))
    .filter((one) => isPromptable(one, choice) && reachesNetwork(one, choice))
    .filter(hasItsPhone(payment, choice))
  // A payer who chose a network or typed a number expects its prompt or its page; pages of aggregators are a fallback.
  return able.toSorted((one, other) => fallbackRank(one, choice) - fallbackRank(other, choice))
}

/** The page of one network is no fallback for the payers of another. */
function reachesNetwork({ ways }: Candidate, { channel, network }: CheckoutChoice): boolean {
  const named = ways.find((way) => way.channel === channel)?.networks ?? []
  return network === undefined || named.length === 0 || named.some(({ code }) => code === network)
}

function fallbackRank(candidate: Candidate, { network, phone }: CheckoutChoice): 0 | 1 {
  if (network === undefined) return phone === undefined || promptOf(candidate) ? 0 : 1
  const way = candidate.ways.find(({ channel }) => channel === 'mobile_money')
  return way?.networks.some(({ code }) => code === network) ? 0 : 1
}
