// The connector to Safaricom Daraja: M-Pesa in Kenya, to the merchant's own paybill or till. The payer confirms a prompt on the
// phone. The gateway is not named after M-Pesa, because Daraja refuses callback addresses with that word.

import type { HttpResult } from '../../kit/http/http-client.ts'
import type { Connection, GatewayDefinition } from '../definition.ts'
import type { Gateway, GatewayBehavior, Outcome, Rail, StatusQuery } from '../gateway.ts'
import { receipt, refused, type Unknown, unknown } from '../reply.ts'
import { checkDarajaAccount } from './account-checks.ts'
import { fromShillings } from './amounts.ts'
import { type DarajaApi, isOutcome, openApi } from './api.ts'
import { type PushReport, parseCallback, pushReportOf } from './callbacks.ts'
import { CREDENTIALS, type DarajaAccount, readAccount } from './credentials.ts'
import { findListed, type ListedPayment } from './pull.ts'
import { authorize, fromPush, NETWORK, PUSH_PATH, toPushBody } from './push.ts'
import {
  failed,
  fromRefund,
  fromReport,
  PAYOUT_PATH,
  REVERSAL_PATH,
  TRANSACTION_STATUS_PATH,
  toPayout,
  toReversal,
  toStatusBody,
} from './refunds.ts'
import { fromProbe, fromStatus, NO_PROMPT, type PromptStatus, QUERY_PATH } from './status.ts'
import { fromListTime, fromTimestamp } from './times.ts'

const NAME = 'daraja'

const RAILS: readonly Rail[] = [
  {
    currency: 'KES',
    countries: ['KE'],
    channels: ['mobile_money'],
    // Whole shillings. M-Pesa's limit for one payment.
    minimumMinor: 100n,
    maximumMinor: 25_000_000n,
    stepMinor: 100n,
    prompts: true,
    networks: [NETWORK],
  },
]

// The list of payments goes back about 48 hours. Some hours before its end an hourly poll still finds the attempt in it.
const ABSENT_AFTER_HOURS = 45

const BEHAVIOR: GatewayBehavior = {
  worksWithoutEmail: true,
  keyRetentionHours: 0,
  cachesErrors: false,
  lookupByReference: false,
  notResendable: { absentAfterHours: ABSENT_AFTER_HOURS },
  nonIdempotentRefunds: true,
}

export const DARAJA: GatewayDefinition = {
  name: NAME,
  title: 'Safaricom Daraja',
  rails: RAILS,
  behavior: BEHAVIOR,
  credentials: CREDENTIALS,
  baseUrl: { test: 'https://sandbox.safaricom.co.ke', live: 'https://api.safaricom.co.ke' },
  manualChecks: [
    {
      about: 'products',
      detail:
        'The app in the Daraja portal must have M-Pesa Express, and for refunds Reversal or B2C with Transaction Status; otherwise Daraja answers 401 “no apiproduct match found”.',
    },
    {
      about: 'firewall',
      detail:
        'If your firewall filters by address, allow those of the callbacks: 196.201.214.200, .206, .207 and .208; 196.201.213.44 and .114; 196.201.212.69, .74, .127, .129, .136 and .138.',
    },
  ],
  open,
}

function open(connection: Connection): Gateway {
  const account = readAccount(connection.credentials)
  const { refunds } = account
  const api = openApi(connection, account.app)
  const prompts = openPrompts(connection, account, api)
  return {
    name: NAME,
    rails: RAILS,
    behavior: behaviorOf(account),
    webhookAnswer: { ResultCode: 0, ResultDesc: 'Accepted' },
    ...prompts,
    ...(refunds && openRefunds(connection, refunds)),
    parseWebhook: (request) => parseCallback(request, refunds?.isPayout ?? false),
    checkAccount: () => checkDarajaAccount(account, api, connection.callbackUrl({ kind: 'account' })),
  }
}

/** Without a list of payments nothing proves that a prompt never arrived. Payouts have a key. */
function behaviorOf({ pullNumber, refunds }: DarajaAccount): GatewayBehavior {
  const { nonIdempotentRefunds, ...others } = BEHAVIOR
  const notResendable = { absentAfterHours: pullNumber === undefined ? null : ABSENT_AFTER_HOURS }
  return { ...others, notResendable, ...(!refunds?.isPayout && { nonIdempotentRefunds }) }
}

function openPrompts(
  { clock, callbackUrl }: Connection,
  { payee, pullNumber }: DarajaAccount,
  api: DarajaApi,
): Pick<Gateway, 'startCheckout' | 'verify' | 'probe'> {
  /** Undefined if the account has no list. */
  const find = (query: StatusQuery) =>
    pullNumber === undefined
      ? undefined
      : findListed({ api, shortcode: payee.shortcode, now: clock.now() }, query)

  const toQueryBody = (reference: string) => ({
    ...authorize(payee, clock.now()),
    CheckoutRequestID: reference,
  })

  const askStatus = async (reference: string, report: PushReport | undefined): Promise<PromptStatus> => {
    const result = await api.query(QUERY_PATH, toQueryBody(reference))
    return isOutcome(result) ? result : fromStatus(result, reference, report)
  }

  return {
    async startCheckout(attempt, choice) {
      const callback = callbackUrl({ kind: 'attempt', key: attempt.key })
      const made = toPushBody(attempt, choice, { payee, callbackUrl: callback, now: clock.now() })
      if ('issue' in made) return refused('provider_unavailable', made.issue)
      const result = await api.submit(PUSH_PATH, made.body)
      return isOutcome(result) ? result : fromPush(result, choice.phone ?? '', clock.now())
    },

    async verify(query, reference) {
      if (reference === null || RECEIPT.test(reference)) return fromList(await find(query), query)
      const report = pushReportOf(query.report, reference)
      const status = await askStatus(reference, report)
      const needsList = status.kind === 'paid' ? !report?.receipt : contradictsReport(status, report)
      const listed = needsList ? await find(query) : undefined
      if (status.kind === 'paid') return toSuccess(query, reference, report, listed)
      return isListed(listed) ? toSuccess(query, reference, report, listed) : status
    },

    probe: () => api.probe(QUERY_PATH, toQueryBody(NO_PROMPT), fromProbe),
  }
}

// A payment that was found in the list has its receipt number as its reference; prompts have longer ids.
const RECEIPT = /^[A-Z0-9]{10}$/

/** The callback says that it was paid, and the query does not confirm it. */
function contradictsReport(status: PromptStatus, report: PushReport | undefined): boolean {
  return status.kind === 'unknown' && report?.resultCode === '0'
}

type Found = ListedPayment | null | Unknown | undefined

function isListed(found: Found): found is ListedPayment {
  return found !== undefined && found !== null && 'transactionId' in found
}

function fromList(found: Found, query: StatusQuery): Outcome {
  if (found === undefined) return unknown('not_found', 'Only a callback can say what became of this prompt')
  if (found === null) return unknown('not_found', 'M-Pesa has no payment of this attempt')
  return isListed(found) ? toSuccess(query, found.transactionId, undefined, found) : found
}

/** The payer cannot change the amount of a prompt. Where callback or list say another one, our caller detects it. */
function toSuccess(
  query: StatusQuery,
  gatewayReference: string,
  report: PushReport | undefined,
  found: Found,
): Outcome {
  const listed = isListed(found) ? found : undefined
  const paid = fromShillings(report?.amount) ?? fromShillings(listed?.amount ?? undefined)
  return {
    kind: 'succeeded',
    gatewayReference,
    ...receipt(report?.receipt ?? listed?.transactionId),
    paid: paid ?? query.amount,
    key: query.key,
    savedMethod: null,
    paidAt: fromTimestamp(report?.time) ?? fromListTime(listed?.trxDate ?? '', query.startedAt),
  }
}

function openRefunds(
  connection: Connection,
  { app, initiator, isPayout }: NonNullable<DarajaAccount['refunds']>,
): Pick<Gateway, 'refund' | 'verifyRefund'> {
  const api = openApi(connection, app)
  const urlsOf = (kind: 'refund' | 'refund_status', key: string) => ({
    result: connection.callbackUrl({ kind, key }),
    timeout: connection.callbackUrl({ kind: 'account' }),
  })
  const askStatus = (request: Parameters<typeof toStatusBody>[0]): Promise<HttpResult | Unknown> =>
    api.query(TRANSACTION_STATUS_PATH, toStatusBody(request, initiator, urlsOf('refund_status', request.key)))

  return {
    async refund(request) {
      const toBody = isPayout ? toPayout : toReversal
      const made = toBody(request, initiator, urlsOf('refund', request.key))
      if ('issue' in made) return failed(made.issue)
      return fromRefund(await api.query(isPayout ? PAYOUT_PATH : REVERSAL_PATH, made.body))
    },

    async verifyRefund(request, gatewayReference) {
      const reported = fromReport(request, gatewayReference, isPayout)
      const isOpen = reported.kind === 'unknown' && reported.reason === 'not_found'
      // The status arrives as another callback.
      if (isPayout && isOpen) await askStatus(request)
      return reported
    },
  }
}
