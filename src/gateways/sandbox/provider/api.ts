// The provider's API, authenticated by its secret.

import { createHash } from 'node:crypto'
import { Type } from 'typebox'
import { constantTimeEquals } from '../../../kit/crypto.ts'
import { jsonReader } from '../../../kit/exact-json.ts'
import { Enum, Nullable } from '../../../kit/http/schema.ts'
import type { ProviderChannel } from '../../gateway.ts'
import { factsOf, INSTRUMENT_NAMES, isInstrumentName, type SavedCardCharge } from '../instruments.ts'
import { ChargeBody, CheckoutBody, ClockBody, NewDisputeBody } from '../wire.ts'
import { RefundBody } from '../wire-refund.ts'
import {
  applyFault,
  brokenReply,
  type Fault,
  FaultBody,
  type FaultInjector,
  notFoundReply,
} from './faults.ts'
import {
  advanceAccount,
  type CreateResult,
  cancelByKey,
  createCharge,
  createCheckout,
  disputeByKey,
  listExecutions,
  type ProviderNeeds,
  readByKey,
  simulateByKey,
} from './provider.ts'
import { isFinal, type SandboxRecord, savedCardChargeOf } from './record.ts'
import { createRefund, refundBehaviorOf } from './refund.ts'
import { errorReply, type ProviderRoute, type Reply, type RouteRequest } from './router.ts'
import { serializeRecord } from './serialize.ts'

export interface ApiNeeds extends ProviderNeeds {
  readonly secret: string
  /** The URL of the payers' pages, without a trailing slash. */
  readonly pagesUrl: string
  faults: FaultInjector
}

const readCheckout = jsonReader(CheckoutBody)
const readCharge = jsonReader(ChargeBody)
const readRefund = jsonReader(RefundBody)
const readSimulation = jsonReader(Type.Object({ instrument: Nullable(Enum(INSTRUMENT_NAMES)) }))
const readDispute = jsonReader(NewDisputeBody)
const readClock = jsonReader(ClockBody)
const readFault = jsonReader(FaultBody)

export function apiRoutes(app: ApiNeeds): ProviderRoute[] {
  const routes: ProviderRoute[] = [
    { method: 'POST', path: /^\/v1\/checkouts$/, handle: (request) => handleCheckout(app, request) },
    { method: 'POST', path: /^\/v1\/charges$/, handle: (request) => handleCharge(app, request) },
    { method: 'POST', path: /^\/v1\/refunds$/, handle: (request) => handleRefund(app, request) },
    { method: 'GET', path: /^\/v1\/refunds\/([^/]+)$/, handle: (request) => handleRead(app, request) },
    { method: 'GET', path: /^\/v1\/payments\/([^/]+)$/, handle: (request) => handleRead(app, request) },
    {
      method: 'POST',
      path: /^\/v1\/payments\/([^/]+)\/cancel$/,
      handle: (request) => handleCancel(app, request),
    },
    {
      method: 'POST',
      path: /^\/v1\/payments\/([^/]+)\/simulate$/,
      handle: (request) => handleSimulate(app, request),
    },
    {
      method: 'POST',
      path: /^\/v1\/payments\/([^/]+)\/dispute$/,
      handle: (request) => handleDispute(app, request),
    },
    { method: 'POST', path: /^\/v1\/clock\/advance$/, handle: (request) => handleAdvance(app, request) },
    { method: 'GET', path: /^\/v1\/executions$/, handle: (request) => handleExecutions(app, request) },
    { method: 'POST', path: /^\/v1\/faults$/, handle: (request) => handleNewFault(app, request) },
    { method: 'DELETE', path: /^\/v1\/faults$/, handle: () => handleClearFaults(app) },
  ]
  return routes.map((route) => ({ ...route, handle: authenticated(app, route.handle) }))
}

function authenticated(app: ApiNeeds, handle: ProviderRoute['handle']): ProviderRoute['handle'] {
  return async (request) => {
    const given = request.headers.authorization ?? ''
    // Compare hashes, so that the comparison takes the same time for every length.
    if (constantTimeEquals(digest(given), digest(`Bearer ${app.secret}`))) return handle(request)
    return errorReply(401, 'unauthorized', 'The secret is not right.')
  }
}

const digest = (text: string) => createHash('sha256').update(text).digest()
const json = (http: number, body: unknown): Reply => ({ kind: 'json', http, body })
const invalid = errorReply(400, 'invalid_request', 'The body or the Idempotency-Key is not acceptable.')
const wrongInstrument = errorReply(409, 'wrong_instrument', 'This channel has no such instrument.')

async function handleCheckout(app: ApiNeeds, request: RouteRequest): Promise<Reply> {
  const key = keyOf(request)
  const body = readCheckout(request.text)
  if (!key || !body || !URL.canParse(body.returnUrl)) return invalid
  if (body.instrument !== null && channelOf(body.instrument) !== body.channel) return wrongInstrument
  return withFault(app, 'checkout', async () => replyToCreation(app, await createCheckout(app, key, body)))
}

async function handleCharge(app: ApiNeeds, request: RouteRequest): Promise<Reply> {
  const key = keyOf(request)
  const body = readCharge(request.text)
  if (!key || !body) return invalid
  return withFault(app, 'charge', async () => replyToCreation(app, await createCharge(app, key, body)))
}

async function handleRefund(app: ApiNeeds, request: RouteRequest): Promise<Reply> {
  const key = keyOf(request)
  const body = readRefund(request.text)
  if (!key || !body) return invalid
  return withFault(app, 'refund', async () => {
    const creation = await createRefund(app, key, body)
    if (creation.kind !== 'refused') return replyToCreation(app, creation)
    return { reply: errorReply(422, 'refused', creation.message) }
  })
}

async function handleRead(app: ApiNeeds, { params: [key = ''] }: RouteRequest): Promise<Reply> {
  return withFault(app, 'verify', async () => replyAbout(app, await readByKey(app, key)))
}

async function handleCancel(app: ApiNeeds, { params: [key = ''] }: RouteRequest): Promise<Reply> {
  return replyAbout(app, await cancelByKey(app, key)).reply
}

async function handleSimulate(app: ApiNeeds, { params: [key = ''], text }: RouteRequest): Promise<Reply> {
  const body = readSimulation(text)
  if (!body) return invalid
  const record = await readByKey(app, key)
  if (record && body.instrument && channelOf(body.instrument) !== record.channel) return wrongInstrument
  return replyAbout(app, await simulateByKey(app, key, body.instrument)).reply
}

async function handleDispute(app: ApiNeeds, { params: [key = ''], text }: RouteRequest): Promise<Reply> {
  const body = readDispute(text)
  return body ? replyAbout(app, await disputeByKey(app, key, body.outcome)).reply : invalid
}

async function handleAdvance(app: ApiNeeds, { text }: RouteRequest): Promise<Reply> {
  const body = readClock(text)
  return body ? json(200, await advanceAccount(app, body.account, body.ms)) : invalid
}

async function handleExecutions(app: ApiNeeds, { query }: RouteRequest): Promise<Reply> {
  return json(200, await listExecutions(app, query.get('order') ?? ''))
}

async function handleNewFault(app: ApiNeeds, { text }: RouteRequest): Promise<Reply> {
  const fault = readFault(text)
  if (!fault) return invalid
  app.faults.add(fault)
  return json(201, fault)
}

async function handleClearFaults(app: ApiNeeds): Promise<Reply> {
  app.faults.clear()
  return json(200, {})
}

const MAX_KEY_LENGTH = 255

function keyOf({ headers }: RouteRequest): string | undefined {
  const key = headers['idempotency-key']
  return typeof key === 'string' && key.length > 0 && key.length <= MAX_KEY_LENGTH ? key : undefined
}

function channelOf(instrument: string): ProviderChannel | undefined {
  return isInstrumentName(instrument) ? factsOf(instrument).channel : undefined
}

interface RecordReply {
  reply: Reply
  record?: SandboxRecord
}

function replyAbout(app: ApiNeeds, record: SandboxRecord | undefined, http = 200): RecordReply {
  if (!record) return { reply: notFoundReply }
  return { reply: json(http, serializeRecord(record, app.pagesUrl)), record }
}

const SLOW_ANSWER_MS = 5_000

function replyToCreation(app: ApiNeeds, creation: CreateResult): RecordReply {
  if (creation.kind === 'reused')
    return { reply: errorReply(409, 'key_reused', 'This Idempotency-Key was used with another body.') }
  const { record, created } = creation
  const declined = record.kind !== 'checkout' && record.status === 'declined'
  const { reply } = replyAbout(app, record, declined ? 402 : created ? 201 : 200)
  // Only the first response is lost or delayed; a retry gets a normal one.
  const responseMode = created ? responseModeOf(record) : 'normal'
  switch (responseMode) {
    case 'lost':
      return { reply: { kind: 'drop' }, record }
    case 'slow':
      return { reply: { ...reply, delayMs: SLOW_ANSWER_MS }, record }
    case 'normal':
      return { reply, record }
  }
}

function responseModeOf(record: SandboxRecord): SavedCardCharge['response'] {
  if (record.kind === 'charge') return savedCardChargeOf(record.instrument).response
  const isLost = record.kind === 'refund' && refundBehaviorOf(record) === 'succeeds_response_lost'
  return isLost ? 'lost' : 'normal'
}

// A charge or refund with a normal response needs no webhook. If its response was lost, the webhook follows after the
// caller has noticed the loss.
const LOST_ANSWER_WEBHOOK_MS = 1_000

async function withFault(app: ApiNeeds, on: Fault['on'], act: () => Promise<RecordReply>): Promise<Reply> {
  const fault = app.faults.take(on)
  if (fault?.kind === '500_before') return brokenReply
  if (fault?.kind === 'late_ms') {
    // No request waits for it, so its failure is not reported.
    app.clock
      .sleep(fault.ms ?? 0)
      .then(act)
      .catch(() => undefined)
    return { kind: 'drop' }
  }
  const { reply, record } = await act()
  if (!record) return reply
  const sent = applyFault(fault, reply, serializeRecord(record, app.pagesUrl), app.clock.now())
  const lost = sent.kind !== 'json' || sent.http >= 500
  const isSubmission = on === 'charge' || on === 'refund'
  if (isSubmission && lost && isFinal(record)) app.webhookSender.send(record, LOST_ANSWER_WEBHOOK_MS)
  return sent
}
