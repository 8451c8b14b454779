// Direct deposits: the payer has entered the number on our page, and pawaPay has the operator prompt the phone. Operators
// with a page of their own (Wave) redirect the payer there. One that wants a code first is collected on pawaPay's page.

import { Type } from 'typebox'
import { addMs, type Clock } from '../../kit/clock.ts'
import { jsonReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { Attempt, CheckoutChoice, NextStep, Outcome, StartedCheckout } from '../gateway.ts'
import { Maybe, refused, unknown, unrecognized, withoutResponse } from '../reply.ts'
import { toAmount } from './amounts.ts'
import { networkNameOf, providerOf } from './operators.ts'
import { countryOf } from './rails.ts'
import { FailureReason, Identity, readReply, Text } from './response.ts'
import { type DepositTerms, refusalOf, termsOf } from './terms.ts'
import { type DepositState, fromErrorReply, fromRejection, toCustomerMessage, toMetadata } from './wire.ts'

export interface DepositApi {
  get(path: string): Promise<HttpResult>
  post(path: string, fields: object): Promise<HttpResult>
  /** The state of a deposit that has been submitted. */
  read(attempt: Attempt): Promise<DepositState>
  clock: Clock
}

/** A checkout whose payer entered a number on our page. */
export interface DirectCheckout {
  attempt: Attempt
  /** Digits with the country code. */
  phoneNumber: string
  returnUrl: string
}

/** `page`: the operator wants what our page cannot ask for. */
type DepositStart = StartedCheckout | Outcome | { kind: 'page' }

export async function startDeposit(
  api: DepositApi,
  checkout: DirectCheckout,
  choice: CheckoutChoice,
): Promise<DepositStart> {
  const { attempt, phoneNumber } = checkout
  const country = countryOf(attempt)
  if ('issue' in country) return refused('provider_unavailable', country.issue)
  const provider = providerOf(choice.network ?? '') ?? (await predict(api, phoneNumber, country.alpha3))
  if (typeof provider !== 'string') return provider
  const result = await api.get(`/active-conf?country=${country.alpha3}&operationType=DEPOSIT`)
  // Nothing was submitted, so another gateway may be tried.
  if (result.kind !== 'answered') return unknown('not_sent', withoutResponse(result).message)
  const terms = termsOf(result, provider, attempt.amount.currency)
  if (terms.authorisation === 'code') return { kind: 'page' }
  return refusalOf(terms, attempt.amount) ?? submit(api, checkout, terms)
}

const readPrediction = jsonReader(Type.Object({ country: Text(10), provider: Identity }))

/** The operator of a number whose payer chose none. */
async function predict(api: DepositApi, phoneNumber: string, alpha3: string): Promise<string | Outcome> {
  const result = await api.post('/predict-provider', { phoneNumber })
  const reply = readReply(result, readPrediction)
  // Only the submission that did not happen yet could have had an effect.
  if (reply.kind === 'unknown') return unknown('not_sent', reply.message)
  if (reply.kind === 'error') return fromPredictionError(reply.http, reply.message)
  if (reply.body.country === alpha3) return reply.body.provider
  return refused('wallet_not_found', 'the number belongs to another country')
}

function fromPredictionError(http: number, message: string): Outcome {
  return http === 400
    ? refused('wallet_not_found', 'pawaPay knows no operator of the number')
    : refused('provider_unavailable', message)
}

const readAccepted = jsonReader(
  Type.Object({
    depositId: Identity,
    status: Text(50),
    nextStep: Maybe(Text(50)),
    failureReason: Maybe(FailureReason),
  }),
)

async function submit(
  api: DepositApi,
  checkout: DirectCheckout,
  terms: DepositTerms,
): Promise<StartedCheckout | Outcome> {
  const reply = readReply(await api.post('/deposits', toDepositBody(checkout, terms)), readAccepted)
  if (reply.kind === 'unknown') return reply
  if (reply.kind === 'error') return fromErrorReply(reply)
  const { depositId, status, nextStep, failureReason } = reply.body
  if (depositId !== checkout.attempt.key)
    return unrecognized('pawaPay answered about another deposit than ours')
  switch (status) {
    case 'ACCEPTED': {
      const isRedirect = nextStep === 'GET_AUTH_URL' || terms.authorisation === 'redirect'
      return isRedirect ? findAuthorisationUrl(api, checkout) : prompted(checkout, terms)
    }
    case 'DUPLICATE_IGNORED':
      return continueDeposit(api, checkout, terms)
    case 'REJECTED':
      return fromRejection(failureReason)
    default:
      return unrecognized('pawaPay answered a status that we do not know')
  }
}

function toDepositBody({ attempt, phoneNumber, returnUrl }: DirectCheckout, terms: DepositTerms) {
  const customerMessage = toCustomerMessage(attempt.merchantName)
  const isRedirect = terms.authorisation === 'redirect'
  return {
    depositId: attempt.key,
    amount: toAmount(attempt.amount),
    currency: attempt.amount.currency,
    payer: { type: 'MMO', accountDetails: { phoneNumber, provider: terms.provider } },
    ...(customerMessage !== undefined && { customerMessage }),
    // Only operators with a page of their own take these.
    ...(isRedirect && { successfulUrl: returnUrl, failedUrl: returnUrl }),
    metadata: toMetadata(attempt),
  }
}

// pawaPay does not say how long a prompt stays open; operators close theirs within a few minutes.
const PROMPT_MS = 5 * 60_000

function prompted({ attempt, phoneNumber }: DirectCheckout, terms: DepositTerms): StartedCheckout {
  const next: NextStep = {
    kind: 'prompt',
    phone: `+${phoneNumber}`,
    network: networkNameOf(terms.provider) ?? terms.provider,
    expiresAt: addMs(attempt.startedAt, PROMPT_MS).toISOString(),
    ...(terms.promptName !== undefined && { promptName: terms.promptName }),
  }
  return { kind: 'started', gatewayReference: attempt.key, next }
}

/** An earlier request, whose response may be lost, began the deposit: its step is the same. */
async function continueDeposit(
  api: DepositApi,
  checkout: DirectCheckout,
  terms: DepositTerms,
): Promise<StartedCheckout | Outcome> {
  if (terms.authorisation === 'redirect') return findAuthorisationUrl(api, checkout)
  const { outcome } = await api.read(checkout.attempt)
  return outcome.kind === 'pending' ? prompted(checkout, terms) : outcome
}

// The operator's page is not known at once.
const URL_TRIES = 4
const URL_DELAY_MS = 700

/** If it is not found in time, the next status check leads here again, a second or two later. */
async function findAuthorisationUrl(
  api: DepositApi,
  { attempt }: DirectCheckout,
): Promise<StartedCheckout | Outcome> {
  for (let tries = 1; tries <= URL_TRIES; tries += 1) {
    const { outcome, authorisationUrl } = await api.read(attempt)
    if (outcome.kind !== 'pending') return outcome
    if (authorisationUrl)
      return {
        kind: 'started',
        gatewayReference: attempt.key,
        next: { kind: 'redirect', url: authorisationUrl },
      }
    if (tries < URL_TRIES) await api.clock.sleep(URL_DELAY_MS)
  }
  return unknown('not_found', "pawaPay has not returned the operator's page yet")
}
