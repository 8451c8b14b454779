// The payment provider. A payment session of Medusa is a payment of Cowry, which the customer pays on Cowry's checkout page.
// Cowry collects at once, so a paid session is captured. A state that is not known yet stays pending.

import { Cowry, CowryConnectionError, CowryError, unwrap } from '../../sdk/src/index.ts'
import { isSameDecimal, textOf, toAmount } from './amount.ts'
import { countryFor } from './country.ts'
import {
  type AmountInput,
  type MedusaAmount,
  type MedusaContainer,
  ProviderError,
  type ProviderInput,
  type SessionStatus,
  type WebhookAction,
  type WebhookPayload,
} from './medusa.ts'
import { hasEnded, sessionStatusOf, wasPaid } from './status.ts'

export interface CowryOptions {
  apiKey: string
  /** The address of your Cowry service. */
  baseUrl: string
  /** The signing secret of the webhook endpoint; two while you rotate it. */
  webhookSecret: string | readonly string[]
  /** Where the customer returns after the checkout, unless the storefront sends `redirectUrl` with the session. */
  redirectUrl?: string
  /** For XOF and XAF, unless the storefront or the customer's billing address names a country that uses the currency. */
  country?: string
  /**
   * Offer customers who are signed in their saved payment methods. Cowry knows a customer by the e-mail address, so turn it on
   * only if your shop verifies the address of an account. Default: false.
   */
  offerSavedMethods?: boolean
  /** For tests. */
  fetch?: typeof fetch
}

type Payment = Awaited<ReturnType<Cowry['payments']['get']>>
type InitiateRequest = Parameters<Cowry['payments']['initiate']>[0]
/** Who pays, and where. */
type Payer = Pick<InitiateRequest, 'customer' | 'offerSavedMethods' | 'country' | 'redirectUrl'>

export class CowryPaymentProvider {
  static identifier = 'cowry'
  readonly #cowry: Cowry
  readonly #options: CowryOptions
  readonly #logger: MedusaContainer['logger']

  static validateOptions(options: Partial<CowryOptions>): void {
    for (const name of ['apiKey', 'baseUrl', 'webhookSecret'] as const)
      if (!options[name]?.length)
        throw new ProviderError('invalid_data', `The option ${name} of @cowry/medusa is missing.`)
  }

  constructor({ logger }: MedusaContainer, options: CowryOptions) {
    this.#options = options
    this.#logger = logger
    const { apiKey, baseUrl, fetch } = options
    this.#cowry = new Cowry({ apiKey, baseUrl, ...(fetch && { fetch }) })
  }

  getIdentifier(): string {
    return CowryPaymentProvider.identifier
  }

  initiatePayment(input: AmountInput) {
    return translated(async () => {
      const sessionId = sessionOf(input)
      const { status, data } = await this.#open(input, sessionId, 1, this.#payerOf(input))
      return { id: data.uuid, status, data }
    })
  }

  /**
   * A payment cannot change its amount, so the open one is cancelled and another one is opened. One that has ended is
   * replaced too, because its checkout page is closed.
   */
  updatePayment(input: AmountInput) {
    return translated(async (): Promise<{ status: SessionStatus; data: Record<string, unknown> }> => {
      const payment = await this.#payment(input)
      if (isFor(payment, input) && !hasEnded(payment))
        return { status: sessionStatusOf(payment), data: { ...input.data, status: payment.status } }
      await this.#cancelUnpaid(payment)
      const payer = this.#payerOfPayment(payment, input)
      return this.#open(input, sessionOf(input), revisionOf(payment) + 1, payer)
    })
  }

  /** Asks the gateway. Only a proven payment is captured. */
  authorizePayment(input: ProviderInput) {
    return translated(async () => {
      const { uuid } = await this.#payment(input)
      const payment = await this.#cowry.payments.verify({ uuid })
      return { status: sessionStatusOf(payment), data: { ...input.data, status: payment.status } }
    })
  }

  getPaymentStatus(input: ProviderInput) {
    return this.authorizePayment(input)
  }

  /** Cowry has collected the money already; this only refuses what is not paid. */
  capturePayment(input: ProviderInput) {
    return translated(async () => {
      const { status, data } = await this.authorizePayment(input)
      if (status === 'captured') return { data }
      throw new ProviderError('not_allowed', `The payment is ${data.status}, not paid.`)
    })
  }

  retrievePayment(input: ProviderInput) {
    return translated(async () => ({ data: { ...(await this.#payment(input)) } }))
  }

  /** Medusa's id of the refund is the idempotency key, so a repeated call refunds once. */
  refundPayment(input: ProviderInput & { amount: MedusaAmount }) {
    return translated(async () => {
      const { uuid, sourceCurrency } = await this.#payment(input)
      const { number: amount } = toAmount(input.amount, sourceCurrency)
      return {
        data: { ...input.data, refund: await this.#refund(uuid, input.context?.idempotency_key, amount) },
      }
    })
  }

  /** Ends an open payment. One that was paid is refunded: Medusa cancels it because there will be no order. */
  cancelPayment(input: ProviderInput) {
    return translated(async () => {
      const { uuid } = await this.#payment(input)
      const payment = await this.#cowry.payments.verify({ uuid })
      if (!wasPaid(payment)) {
        await this.#cancelUnpaid(payment)
        return { data: { ...input.data, status: 'abandoned' } }
      }
      if (sessionStatusOf(payment) !== 'captured') return { data: { ...input.data, status: payment.status } }
      return { data: { ...input.data, refund: await this.#refundRest(uuid) } }
    })
  }

  /** Fails if the customer has paid, or may have paid, so that Medusa keeps the session. */
  deletePayment(input: ProviderInput) {
    return translated(async () => {
      await this.#cancelUnpaid(await this.#payment(input))
      return { data: { ...input.data } }
    })
  }

  /** Throws for a webhook that is forged or too old. Medusa then asks authorizePayment, which asks the service. */
  async getWebhookActionAndData({ rawData, headers }: WebhookPayload): Promise<WebhookAction> {
    const texts = Object.entries(headers).filter(
      (header): header is [string, string] => typeof header[1] === 'string',
    )
    const event = await unwrap(rawData, Object.fromEntries(texts), this.#options.webhookSecret)
    if (event.type !== 'payment.successful' && event.type !== 'payment.failed')
      return { action: 'not_supported' }
    const { medusaSession, medusaAmount } = Object(event.data.metadata)
    if (typeof medusaSession !== 'string' || typeof medusaAmount !== 'string')
      return { action: 'not_supported' }
    if (await this.#isReplaced(medusaSession, event.data)) {
      if (event.type === 'payment.successful') await this.#refundReplaced(medusaSession, event.data.uuid)
      return { action: 'not_supported' }
    }
    const data = { session_id: medusaSession, amount: medusaAmount }
    return { action: event.type === 'payment.successful' ? 'captured' : 'failed', data }
  }

  async #open(input: AmountInput, sessionId: string, revision: number, payer: Payer) {
    const currency = input.currency_code.toUpperCase()
    const { number: amount, text } = toAmount(input.amount, currency)
    // Of the session, so that a repeated call opens one payment; of the amount too, if it has changed.
    const reference = revision === 1 ? sessionId : `${sessionId}-${revision}-${text}`
    const request = {
      ...payer,
      amount,
      // A boundary: the service refuses a currency that it does not know.
      currency: currency as InitiateRequest['currency'],
      reference,
      metadata: {
        medusaSession: sessionId,
        medusaAmount: textOf(input.amount),
        medusaRevision: String(revision),
      },
    }
    const payment = await this.#cowry.payments.initiate(request).catch(async (error: unknown) => {
      // The first call sent something else of the customer, such as the name before it was changed.
      if (!(error instanceof CowryError) || error.code !== 'duplicate_reference') throw error
      const first = await this.#cowry.payments.verify({ reference })
      if (first.metadata.medusaSession === sessionId && isFor(first, input)) return first
      throw error
    })
    const { uuid, status, checkoutUrl, sourceAmount } = payment
    const data = {
      session_id: sessionId,
      uuid,
      reference,
      status,
      checkoutUrl,
      amount: sourceAmount,
      currency,
    }
    return { status: sessionStatusOf(payment), data }
  }

  /** Another payment was opened for the session after this one. */
  async #isReplaced(session: string, { metadata }: Pick<Payment, 'metadata'>): Promise<boolean> {
    for await (const other of this.#cowry.payments.list({ metadata: { medusaSession: session } }))
      if (revisionOf(other) > revisionOf({ metadata })) return true
    return false
  }

  /** The customer paid on a checkout that was cancelled meanwhile. The session has another payment, so no order uses this money. */
  async #refundReplaced(session: string, uuid: string): Promise<void> {
    const name = `The payment ${uuid} of the session ${session} was paid after another payment had replaced it`
    try {
      const payment = await this.#cowry.payments.get(uuid)
      if (sessionStatusOf(payment) !== 'captured') return
      const refund = await this.#refundRest(uuid)
      this.#logger?.warn(`${name}. Its refund ${refund.uuid} is ${refund.status}.`)
    } catch (error) {
      this.#logger?.warn(`${name}, and could not be refunded. Refund it in Cowry.`)
      throw error
    }
  }

  #payerOf(input: AmountInput): Payer {
    const { data, context } = input
    const billingCountry = context?.customer?.billing_address?.country_code
    const country = textIn(data, 'country') ?? this.#guessCountry(input, billingCountry)
    const redirectUrl = textIn(data, 'redirectUrl') ?? this.#options.redirectUrl
    return {
      customer: customerOf(input),
      // Medusa passes a customer only if the customer is signed in.
      offerSavedMethods: this.#options.offerSavedMethods === true && context?.customer !== undefined,
      ...(country !== undefined && { country: country.toUpperCase() }),
      ...(redirectUrl !== undefined && { redirectUrl }),
    }
  }

  /** Medusa does not name the customer again when the amount changes. */
  #payerOfPayment(payment: Payment, input: AmountInput): Payer {
    const { offerSavedMethods, redirectUrl, sourceCurrency } = payment
    const { email, firstname, lastname } = payment.customer
    const isSameCurrency = sourceCurrency === input.currency_code.toUpperCase()
    const country = isSameCurrency ? payment.country : this.#guessCountry(input, payment.country)
    return {
      customer: { email, firstname, lastname },
      offerSavedMethods,
      ...(country && { country }),
      ...(redirectUrl !== null && { redirectUrl }),
    }
  }

  #guessCountry({ currency_code }: AmountInput, ofCustomer: string | null | undefined): string | undefined {
    return countryFor(currency_code.toUpperCase(), [ofCustomer, this.#options.country])
  }

  /** The payment of the session. The storefront can send data too, so it must be the payment of this very session. */
  async #payment({ data }: ProviderInput): Promise<Payment> {
    const uuid = textIn(data, 'uuid')
    if (uuid === undefined) throw new ProviderError('invalid_data', 'The session has no payment of Cowry.')
    const sessionId = textIn(data, 'session_id')
    if (sessionId === undefined) throw new ProviderError('invalid_data', 'The data has no session_id.')
    const payment = await this.#cowry.payments.get(uuid)
    if (payment.metadata.medusaSession === sessionId) return payment
    throw new ProviderError('invalid_data', 'The payment belongs to another session.')
  }

  async #cancelUnpaid(payment: Payment): Promise<void> {
    if (hasEnded(payment)) return
    const after = await this.#cowry.payments.cancel(payment.uuid)
    if (!hasEnded(after))
      throw new ProviderError('not_allowed', `The payment is ${after.status} and cannot be cancelled.`)
  }

  /**
   * A repeated call refunds once, because its key is the same until a refund has failed. Then the key is another one: the
   * service would return the failed refund for the old key.
   */
  async #refundRest(paymentUuid: string) {
    let failed = 0
    for await (const { status } of this.#cowry.refunds.list({ payment: paymentUuid }))
      if (status === 'failed') failed += 1
    return this.#refund(paymentUuid, `cancel-${paymentUuid}${failed === 0 ? '' : `-${failed}`}`)
  }

  async #refund(paymentUuid: string, idempotencyKey?: string, amount?: number) {
    const body = { paymentUuid, ...(amount !== undefined && { amount }) }
    const { uuid, status } = await this.#cowry.refunds.create(body, idempotencyKey ? { idempotencyKey } : {})
    if (status === 'failed')
      throw new ProviderError('not_allowed', `The refund ${uuid} failed at the gateway.`)
    return { uuid, status }
  }
}

/** Medusa names the session in the data, and since 2.5 also in the idempotency key. */
function sessionOf({ data, context }: ProviderInput): string {
  const sessionId = textIn(data, 'session_id') ?? context?.idempotency_key
  if (sessionId !== undefined) return sessionId
  throw new ProviderError('invalid_data', 'Medusa did not name the payment session.')
}

/** The payment has this amount and currency. */
function isFor(payment: Payment, { amount, currency_code }: AmountInput): boolean {
  const currency = currency_code.toUpperCase()
  return (
    payment.sourceCurrency === currency &&
    isSameDecimal(payment.sourceAmount, toAmount(amount, currency).text)
  )
}

function revisionOf({ metadata }: Pick<Payment, 'metadata'>): number {
  return Number(metadata.medusaRevision ?? 1)
}

function customerOf({ data, context }: ProviderInput): InitiateRequest['customer'] {
  const known = context?.customer
  const email = known?.email ?? textIn(data, 'email')
  if (email === undefined)
    throw new ProviderError(
      'invalid_data',
      'A guest needs an e-mail address: send data.email with the payment session.',
    )
  return {
    email,
    firstname: known?.first_name || textIn(data, 'firstname') || 'Guest',
    lastname: known?.last_name || textIn(data, 'lastname') || 'Customer',
  }
}

function textIn(data: Record<string, unknown> | undefined, name: string): string | undefined {
  const value = data?.[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Errors of the SDK as those of Medusa. */
async function translated<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof CowryConnectionError)
      throw new ProviderError(
        'unexpected_state',
        `Cowry did not answer, so the outcome is not known: ${error.message}`,
        error,
      )
    if (error instanceof CowryError)
      throw new ProviderError(
        error.retryable ? 'unexpected_state' : 'not_allowed',
        `${error.message} (${error.code})`,
        error,
      )
    throw error
  }
}
