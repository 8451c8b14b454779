// An HTTP shell with small routes, a manual clock and a recorded log, for the tests of src/http.

import { Type } from 'typebox'
import { ApiError } from '../../src/core/errors.ts'
import { LOG_LINES, type LogKey } from '../../src/core/log-lines.ts'
import type {
  Caller,
  HttpShell,
  HttpShellOptions,
  InjectedRequest,
  InjectedResponse,
} from '../../src/http/options.ts'
import { createHttpShell } from '../../src/http/server.ts'
import { addMs, type Clock, systemClock } from '../../src/kit/clock.ts'
import { created, ok, type Route, route } from '../../src/kit/http/route.ts'
import type { Log, LogFields } from '../../src/kit/observability/log.ts'
import { systemRandom } from '../../src/kit/random.ts'

export interface LogLine extends LogFields {
  level: string
  key: LogKey
}

export interface FakeShell {
  shell: HttpShell
  lines: LogLine[]
  /** The input of the last handled request. */
  seen: { input?: Record<string, unknown> }
  advance(ms: number): void
  get(url: string, headers?: Record<string, string>): Promise<InjectedResponse>
  post(
    url: string,
    payload: InjectedRequest['payload'],
    headers?: Record<string, string>,
  ): Promise<InjectedResponse>
}

export const MERCHANT = { id: 'merchant-1', name: 'Ama', mode: 'test', baseCurrency: 'USD' } as const

export const CALLER: Caller = { merchant: MERCHANT, keyId: 'key-1', scopes: ['*'], rateLimit: null }

/** Accepts any key except "wrong". */
export async function fakeAuthenticate({ apiKey }: { apiKey: string | undefined }): Promise<Caller> {
  if (apiKey === undefined) throw new ApiError('missing_api_key')
  if (apiKey === 'wrong') throw new ApiError('invalid_api_key')
  return CALLER
}

export const ThingBody = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 100, 'x-nfc': true }),
  amount: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
  currency: Type.Optional(
    Type.Unsafe<string>({
      type: 'string',
      enum: ['USD', 'XOF'],
      default: 'USD',
      'x-code': 'invalid_currency',
      'x-message': 'must be USD or XOF.',
    }),
  ),
  country: Type.Optional(Type.String({ minLength: 2, maxLength: 2, 'x-null': 'refused' })),
  customer: Type.Optional(
    Type.Object({
      email: Type.String({ format: 'email' }),
      phone: Type.Optional(Type.String()),
      nickname: Type.Optional(Type.Union([Type.String({ maxLength: 5 }), Type.Null()])),
    }),
  ),
  tags: Type.Optional(Type.Array(Type.String({ maxLength: 5 }), { maxItems: 3 })),
  kind: Type.Optional(Type.Union([Type.Literal('gift'), Type.Literal('sale')])),
  description: Type.Optional(Type.String({ maxLength: 255, 'x-multiline': true })),
  metadata: Type.Optional(
    Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, 'x-multiline': true }),
  ),
})

export const Thing = Type.Object({
  uuid: Type.String(),
  note: Type.Union([Type.String(), Type.Null()]),
  count: Type.Union([Type.Integer(), Type.Null()]),
  owner: Type.Union([Type.Object({ email: Type.String({ format: 'email' }) }), Type.Null()]),
  metadata: Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true }),
  createdAt: Type.String({ format: 'date-time' }),
})

export const THING = {
  uuid: '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f',
  note: null,
  count: null,
  owner: null,
  metadata: { free: { form: [1, 'two', null] } },
  createdAt: '2026-01-31T08:30:00.000Z',
}

const UuidParams = Type.Object({
  uuid: Type.String({ format: 'uuid', 'x-code': 'invalid_uuid', 'x-message': 'must be a UUID.' }),
})

const ListQuery = Type.Object({
  page: Type.Optional(Type.Integer({ minimum: 1, default: 1 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
  search: Type.Optional(Type.String({ minLength: 1, maxLength: 10 })),
  active: Type.Optional(Type.Boolean()),
})

export function thingRoutes(seen: FakeShell['seen']): Route[] {
  const recordInput = <Input extends object>(input: Input): Input => {
    seen.input = Object.fromEntries(Object.entries(input))
    return input
  }
  const common: Pick<Route, 'tag' | 'scope' | 'errors'> = {
    tag: 'Misc',
    scope: 'wallet:read',
    errors: [],
  }
  return [
    route({
      ...common,
      method: 'POST',
      path: '/api/v1/things',
      operationId: 'things.create',
      summary: 'Create a thing',
      body: ThingBody,
      response: { http: 201, data: Thing },
      examples: { body: { name: 'A thing', amount: 12.5 }, data: THING },
      issues: (body, facts) =>
        facts.lossyNumbers.has('amount') || body.name === 'rude'
          ? [
              {
                field: body.name === 'rude' ? 'name' : 'amount',
                code: 'amount_precision',
                message: 'It is too fine.',
              },
            ]
          : [],
      handle: async (input) => created('Created.', { ...THING, ...recordInput(input).body.metadata }),
    }),
    route({
      ...common,
      method: 'GET',
      path: '/api/v1/things/{uuid}',
      operationId: 'things.get',
      summary: 'Get a thing',
      params: UuidParams,
      response: { http: 200, data: Thing },
      examples: { data: THING },
      handle: async (input) => ({
        ...ok('Found.', recordInput(input) && THING),
        headers: { 'x-extra': 'yes' },
      }),
    }),
    route({
      ...common,
      method: 'GET',
      path: '/api/v1/things',
      operationId: 'things.list',
      summary: 'List things',
      query: ListQuery,
      response: { http: 200, data: Thing, list: true },
      examples: { data: THING },
      handle: async (input) => ({ ...ok('Listed.', recordInput(input) && [THING]), meta: META }),
    }),
    route({
      ...common,
      method: 'POST',
      path: '/api/v1/things/{uuid}/touch',
      operationId: 'things.touch',
      summary: 'Touch a thing',
      params: UuidParams,
      response: { http: 200, data: Thing },
      examples: { data: THING },
      handle: async (input) => ok('Touched.', recordInput(input) && THING),
    }),
  ]
}

const META = {
  page: 1,
  limit: 20,
  total: 1,
  totalIsCapped: false,
  pageCount: 1,
  hasNext: false,
  hasPrevious: false,
  nextCursor: null,
}

export function fakeShell(overrides: Partial<HttpShellOptions> = {}): FakeShell {
  const seen: FakeShell['seen'] = {}
  const lines: LogLine[] = []
  const clock = manualClock()
  const shell = createHttpShell({
    routes: thingRoutes(seen),
    operatorRoutes: [],
    pageRoutes: [],
    gatewayWebhookRoutes: [],
    mounts: {},
    authenticate: fakeAuthenticate,
    adminTokenMatches: (token) => token === 'admin-token',
    ready: async () => ({ ready: true, reasons: [] }),
    publicUrl: () => 'https://pay.example',
    environment: 'staging',
    rateLimit: { perSecond: 100, burst: 500 },
    trustProxy: false,
    clock,
    random: systemRandom(clock),
    log: recordingLog(lines),
    ...overrides,
  })
  const headers = { 'x-api-key': 'right' }
  return {
    shell,
    lines,
    seen,
    advance: clock.advance,
    get: (url, extraHeaders) =>
      shell.inject({ method: 'GET', url, headers: { ...headers, ...extraHeaders } }),
    post: (url, payload, more) =>
      shell.inject({
        method: 'POST',
        url,
        payload,
        headers: { ...headers, 'content-type': 'application/json', ...more },
      }),
  }
}

function manualClock(): Clock & { advance(ms: number): void } {
  let now = addMs(new Date(0), 1_800_000_000_000)
  return {
    now: () => now,
    // Only stop sleeps in the shell, and it waits for sockets, which need real time.
    sleep: systemClock.sleep,
    advance(ms) {
      now = addMs(now, ms)
    },
  }
}

function recordingLog(lines: LogLine[]): Log {
  return {
    write: (key, fields) => void lines.push({ level: LOG_LINES[key].level, key, ...fields }),
  }
}

/** The JSON of a response, loosely typed. */
export function read(answer: InjectedResponse): ResponseBody {
  // A boundary: tests read responses of every shape.
  return JSON.parse(answer.body) as ResponseBody
}

export interface ResponseBody {
  status: string
  message: string
  data: Record<string, unknown>
  meta: Record<string, unknown>
  error: {
    code: string
    type: string
    retryable: boolean
    requestId: string
    docUrl: string
    details: { field: string; code: string; message: string }[]
  }
}

/** The issues of a response as "field code". */
export function issuesIn(answer: InjectedResponse): string[] {
  return read(answer).error.details.map(({ field, code }) => `${field} ${code}`)
}
