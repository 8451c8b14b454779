// A fake pawaPay on a real socket. It validates requests as strictly as pawaPay, stores pages, deposits and refunds,
// and never executes one id twice.

import { type KeyObject, randomUUID } from 'node:crypto'
import type { TestContext } from 'node:test'
import { type Currency, isCurrency } from '../../../src/core/currency.ts'
import { type Money, money } from '../../../src/core/money.ts'
import type { CheckoutEnding, FakeProvider, RefundBehavior } from '../conformance.ts'
import { type FakeReply, type FakeRequest, startFakeServer } from '../fake-server.ts'
import { signCallback } from './fake-callbacks.ts'
import { activeConfiguration, predictProvider } from './fake-operators.ts'
import {
  type DepositSubmission,
  type PageRequest,
  type RefundSubmission,
  validateDeposit,
  validatePage,
  validateRefund,
} from './fake-rules.ts'
import { isSignedRequest } from './fake-signatures.ts'

export const API_TOKEN = 'eyJraWQiOiIxIiwiYWxnIjoiRVMyNTYifQ.made-up-for-tests.c2lnbmF0dXJl'

interface DepositRecord {
  depositId: string
  status: string
  amount: string
  currency: string
  country: string
  payer: unknown
  created: string
  /** The page of an operator that has one. */
  authorizationUrl?: string
  providerTransactionId?: string
  failureReason?: { failureCode: string; failureMessage: string }
  metadata: Record<string, string>
}

interface RefundRecord {
  refundId: string
  depositId: string
  status: string
  amount: string
  currency: string
  created: string
  failureReason?: { failureCode: string; failureMessage: string }
}

interface FakeState {
  /** Every page that was opened, by the id of its deposit. */
  pages: Map<string, PageRequest[]>
  deposits: Map<string, DepositRecord>
  refunds: Map<string, RefundRecord>
  /** The ids of deposits for which money moved, one entry per execution. */
  executed: string[]
  refundBehavior: RefundBehavior
  /** The code with which the next well-formed request is rejected. */
  rejection: string | undefined
  /** The public key of the merchant, if the account takes only signed requests. */
  signerKey: KeyObject | null
  /** The active configuration has the shape of pawaPay's example. */
  listsOperations: boolean
  /** How often a deposit is read before the page of its operator is known. */
  readsBeforeUrl: number
}

export interface FakePawapay extends FakeProvider {
  /** From now on takes only requests that are signed with this key. */
  requireSignatures(signerKey: KeyObject): void
  /** Rejects the next well-formed submission with this code. */
  rejectNext(failureCode: string): void
  /** From now on the active configuration has the shape of pawaPay's example. */
  listOperations(): void
  /** From now on the page of an operator is known only after a deposit was read this often. */
  delayUrls(reads: number): void
  /** How many pages were opened for a deposit. */
  pagesOf(key: string): number
  /** Changes what the provider reports about a deposit. */
  setDeposit(key: string, changes: Partial<DepositRecord>): void
  /** Changes what the provider reports about a refund. */
  setRefund(refundKey: string, changes: Partial<RefundRecord>): void
}

export async function startFakePawapay(t: TestContext): Promise<FakePawapay> {
  const state: FakeState = {
    pages: new Map(),
    deposits: new Map(),
    refunds: new Map(),
    executed: [],
    refundBehavior: 'succeeds',
    rejection: undefined,
    signerKey: null,
    listsOperations: false,
    readsBeforeUrl: 0,
  }
  const server = await startFakeServer(t, async (request) => answer(state, request), {
    errorBody: (http) => failureBody(http === 500 ? 'UNKNOWN_ERROR' : 'TOO_MANY_REQUESTS', `HTTP ${http}`),
  })
  return {
    server,
    finish: (key, ending) => pay(state, key, ending),
    executions: (key) => state.executed.filter((executed) => executed === key).length,
    webhook: signCallback,
    setRefundBehavior: (behavior) => {
      state.refundBehavior = behavior
    },
    refunds: (attemptKey) =>
      refundsOf(state, attemptKey)
        .filter(({ status }) => status === 'COMPLETED')
        .map((refund) => readMoney(refund).minor),
    rejectNext: (failureCode) => {
      state.rejection = failureCode
    },
    requireSignatures: (signerKey) => {
      state.signerKey = signerKey
    },
    listOperations: () => {
      state.listsOperations = true
    },
    delayUrls: (reads) => {
      state.readsBeforeUrl = reads
    },
    pagesOf: (key) => state.pages.get(key)?.length ?? 0,
    setDeposit: (key, changes) => Object.assign(requireRecord(state.deposits.get(key)), changes),
    setRefund: (key, changes) => Object.assign(requireRecord(state.refunds.get(key)), changes),
  }
}

function requireRecord<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('the fake provider has no such record')
  return value
}

function failureBody(failureCode: string, failureMessage: string) {
  return { failureReason: { failureCode, failureMessage } }
}

function answer(state: FakeState, request: FakeRequest): FakeReply {
  const { authorization } = request.headers
  if (authorization === undefined)
    return { http: 401, body: failureBody('NO_AUTHENTICATION', 'There is no API token in the request.') }
  if (authorization !== `Bearer ${API_TOKEN}`) {
    // A provider may quote the token; our log must never contain it.
    const message = `The API token '${authorization.slice('Bearer '.length)}' in the request is invalid.`
    return { http: 403, body: failureBody('AUTHENTICATION_ERROR', message) }
  }
  if (request.method === 'POST' && state.signerKey && !isSignedRequest(request, state.signerKey))
    return { http: 403, body: failureBody('HTTP_SIGNATURE_ERROR', 'The signature cannot be verified.') }
  const [, id] = /^\/v2\/(?:deposits|refunds)\/([^/]+)$/.exec(request.path) ?? []
  switch (`${request.method} ${request.path.replace(/\/[0-9a-f-]{36}$/, '')}`) {
    case 'POST /v2/paymentpage':
      return openPage(state, request)
    case 'POST /v2/deposits':
      return startDeposit(state, request)
    case 'GET /v2/deposits':
      return foundReply(readDeposit(state, id ?? ''))
    case 'POST /v2/predict-provider':
      return predict(request)
    case 'POST /v2/refunds':
      return startRefund(state, request)
    case 'GET /v2/refunds':
      return foundReply(state.refunds.get(id ?? ''))
    case 'GET /v2/active-conf': {
      const options = { isSigned: state.signerKey !== null, isList: state.listsOperations }
      return { http: 200, body: activeConfiguration(request.query.get('country'), options) }
    }
    default:
      return { http: 404, body: { message: 'no such endpoint' } }
  }
}

function foundReply(record: DepositRecord | RefundRecord | undefined): FakeReply {
  return { http: 200, body: record ? { status: 'FOUND', data: record } : { status: 'NOT_FOUND' } }
}

function rejectedReply(id: object, failureCode: string): FakeReply {
  const reason = failureBody(failureCode, "It cannot be taken from the phone number '260763456789'.")
  return { http: 200, body: { ...id, status: 'REJECTED', ...reason } }
}

function takeRejection(state: FakeState): string | undefined {
  const { rejection } = state
  state.rejection = undefined
  return rejection
}

function openPage(state: FakeState, { text }: FakeRequest): FakeReply {
  const page = validatePage(text)
  if ('http' in page) return page
  const { depositId } = page
  const rejection = page.rejection ?? takeRejection(state)
  if (rejection) return rejectedReply({ depositId }, rejection)
  const deposit = state.deposits.get(depositId)
  if (deposit)
    return { http: 200, body: { depositId, status: 'DUPLICATE_IGNORED', created: deposit.created } }
  state.pages.set(depositId, [...(state.pages.get(depositId) ?? []), page])
  const redirectUrl = `https://sandbox.paywith.pawapay.io/?token=${randomUUID()}`
  return { http: 200, body: { redirectUrl } }
}

function predict({ text }: FakeRequest): FakeReply {
  const found = predictProvider(String(JSON.parse(text).phoneNumber))
  if (found) return { http: 200, body: found }
  return { http: 400, body: failureBody('INVALID_PHONE_NUMBER', 'The phone number has no provider.') }
}

/** Prompts the phone, or prepares the operator's page. One id is executed once. */
function startDeposit(state: FakeState, { text }: FakeRequest): FakeReply {
  const deposit = validateDeposit(text)
  if ('http' in deposit) return deposit
  const { depositId, operator } = deposit
  const known = state.deposits.get(depositId)
  if (known) return { http: 200, body: { depositId, status: 'DUPLICATE_IGNORED', created: known.created } }
  if ('rejection' in operator) return rejectedReply({ depositId }, operator.rejection)
  const rejection = takeRejection(state)
  if (rejection) return rejectedReply({ depositId }, rejection)
  const record = directDeposit(deposit, operator.country)
  const isRedirect = operator.authType === 'REDIRECT_AUTH'
  if (isRedirect) record.authorizationUrl = `https://pay.wave.com/c/${depositId}`
  state.deposits.set(depositId, record)
  const nextStep = isRedirect ? 'GET_AUTH_URL' : 'FINAL_STATUS'
  return { http: 200, body: { depositId, status: 'ACCEPTED', created: record.created, nextStep } }
}

function directDeposit(
  { depositId, amount, currency, payer, metadata }: DepositSubmission,
  country: string,
): DepositRecord {
  const created = new Date().toISOString().replace(/\.\d+Z$/, 'Z')
  const written = writeAmount(readMoney({ amount, currency }))
  const fields = { depositId, amount: written, currency, country, payer, created }
  return { ...fields, status: 'ACCEPTED', metadata: Object.assign({}, ...metadata) }
}

function readDeposit(state: FakeState, id: string): DepositRecord | undefined {
  const record = state.deposits.get(id)
  if (!record?.authorizationUrl) return record
  if (record.status === 'ACCEPTED') record.status = 'PROCESSING'
  if (state.readsBeforeUrl === 0) return record
  state.readsBeforeUrl -= 1
  const { authorizationUrl: _later, ...rest } = record
  return rest
}

/** The payer answers the prompt on the phone; only the first answer counts. */
function answerPrompt(state: FakeState, record: DepositRecord, ending: CheckoutEnding): void {
  if (!OPEN.includes(record.status)) return
  const { depositId } = record
  delete record.authorizationUrl
  Object.assign(record, { status: 'PROCESSING' }, endOf(record, ending))
  if (ending.kind === 'pays') state.executed.push(depositId)
}

const OPEN = ['ACCEPTED', 'PROCESSING']

/**
 * The payer pays on the phone, or presses Pay on one of the pages: the first page creates the deposit, and the others do
 * nothing.
 */
function pay(state: FakeState, key: string, ending: CheckoutEnding): void {
  const direct = state.deposits.get(key)
  if (direct && !state.pages.has(key)) answerPrompt(state, direct, ending)
  else pressPay(state, key, ending)
}

function pressPay(state: FakeState, key: string, ending: CheckoutEnding): void {
  const page = state.pages.get(key)?.[0]
  if (!page) throw new Error(`the fake provider has no page for ${key}`)
  if (state.deposits.has(key)) return
  const deposit = newDeposit(page)
  state.deposits.set(key, { ...deposit, ...endOf(deposit, ending) })
  if (ending.kind === 'pays') state.executed.push(key)
}

function newDeposit(page: PageRequest): DepositRecord {
  return {
    depositId: page.depositId,
    status: 'PROCESSING',
    amount: page.amountDetails.amount,
    currency: page.amountDetails.currency,
    country: page.country,
    payer: {
      type: 'MMO',
      accountDetails: { phoneNumber: '260763456789', provider: 'MTN_MOMO_ZMB' },
    },
    created: new Date().toISOString().replace(/\.\d+Z$/, 'Z'),
    metadata: Object.assign({}, ...page.metadata),
  }
}

function endOf(deposit: DepositRecord, ending: CheckoutEnding): Partial<DepositRecord> {
  switch (ending.kind) {
    case 'waits':
      return {}
    case 'declines':
      return {
        status: 'FAILED',
        ...failureBody(ending.how, "The payer '260763456789' could not be charged."),
      }
    case 'pays': {
      const requested = readMoney(deposit)
      const currency = isCurrency(ending.currency) ? ending.currency : requested.currency
      return {
        status: 'COMPLETED',
        amount: writeAmount({ minor: ending.minor ?? requested.minor, currency }),
        currency,
        depositId: ending.key ?? deposit.depositId,
        providerTransactionId: '1024601234',
      }
    }
  }
}

function startRefund(state: FakeState, { text }: FakeRequest): FakeReply {
  const refund = validateRefund(text)
  if ('http' in refund) return refund
  const { refundId } = refund
  const known = state.refunds.get(refundId)
  if (known) return { http: 200, body: { refundId, status: 'DUPLICATE_IGNORED', created: known.created } }
  const rejection = takeRejection(state) ?? rejectionOf(state, refund)
  if (rejection) return rejectedReply({ refundId }, rejection)
  const record = newRefund(state, refund)
  state.refunds.set(refundId, record)
  return { http: 200, body: { refundId, status: 'ACCEPTED', created: record.created } }
}

function newRefund(
  state: FakeState,
  { refundId, depositId, amount, currency }: RefundSubmission,
): RefundRecord {
  const created = new Date().toISOString()
  const record = { refundId, depositId, amount, currency, created }
  switch (state.refundBehavior) {
    case 'succeeds':
      return { ...record, status: 'COMPLETED', amount: writeAmount(readMoney(record)) }
    case 'waits':
      return { ...record, status: 'ENQUEUED' }
    case 'fails':
      return {
        ...record,
        status: 'FAILED',
        ...failureBody('UNSPECIFIED_FAILURE', 'The operator gave no reason.'),
      }
  }
}

function rejectionOf(
  state: FakeState,
  { depositId, amount, currency }: RefundSubmission,
): string | undefined {
  const deposit = state.deposits.get(depositId)
  if (deposit?.status !== 'COMPLETED') return 'DEPOSIT_NOT_FOUND'
  const before = refundsOf(state, depositId).filter(({ status }) => status !== 'FAILED')
  if (before.some(({ status }) => status !== 'COMPLETED')) return 'REFUND_IN_PROGRESS'
  const given = before.reduce((sum, refund) => sum + readMoney(refund).minor, 0n)
  const isTooMuch = given + readMoney({ amount, currency }).minor > readMoney(deposit).minor
  return isTooMuch ? 'AMOUNT_OUT_OF_BOUNDS' : undefined
}

function refundsOf(state: FakeState, depositId: string): RefundRecord[] {
  return [...state.refunds.values()].filter((refund) => refund.depositId === depositId)
}

const DECIMALS: Partial<Record<Currency, number>> = { RWF: 0, UGX: 0, XAF: 0, XOF: 0 }

/** Written independently of the connector, so that a bug there is not hidden here. */
function readMoney({ amount, currency }: { amount: string; currency: string }): Money {
  if (!isCurrency(currency)) throw new Error(`the fake provider does not know ${currency}`)
  const [whole = '', fraction = ''] = amount.split('.')
  const tenThousandths = BigInt(whole) * 10_000n + BigInt(fraction.padEnd(4, '0'))
  return money(tenThousandths / 10n ** BigInt(4 - (DECIMALS[currency] ?? 2)), currency)
}

/** pawaPay returns more zeros than it accepts. */
function writeAmount({ minor, currency }: Money): string {
  const scale = 10n ** BigInt(DECIMALS[currency] ?? 2)
  const fraction = scale === 1n ? '' : String(minor % scale).padStart(2, '0')
  return `${minor / scale}.${fraction.padEnd(4, '0')}`
}
