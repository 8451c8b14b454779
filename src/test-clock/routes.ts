import { type Static, Type } from 'typebox'
import { ApiError, type Issue, newIssue } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import { claimKey, releaseIdempotencyKey } from '../kit/db/idempotency.ts'
import { ok, type Route, route } from '../kit/http/route.ts'
import { count, flag, Nullable, namedObject, Timestamp } from '../kit/http/schema.ts'
import { advanceTestClock, readTestClock, type TestClock, type TestClockApp } from './advance.ts'

const PATH = '/api/v1/sandbox/clock'

// Ten years: longer than the life of a saved test card.
const MAX_SECONDS = 10 * 365 * 24 * 3_600

const TestClockRecord = namedObject(
  'TestClock',
  {
    advancedSeconds: count('By how many seconds you have advanced the clock in total.'),
    lastAdvancedAt: Nullable(Timestamp, 'When you last advanced it, in UTC. Null if you never did.'),
    nextDueAt: Nullable(
      Timestamp,
      'When the next thing happens by itself: send it as `to` to see it. Null if nothing is scheduled.',
    ),
    isCaughtUp: flag(
      'Whether everything that is due is done. False while, for example, a slow webhook endpoint is called.',
    ),
  },
  { description: 'How far you have advanced time in staging.' },
)

const AdvanceBody = namedObject('AdvanceTestClockRequest', {
  seconds: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_SECONDS,
      description: 'By how many seconds to advance the clock. This or `to` is required.',
    }),
  ),
  to: Type.Optional(
    Type.String({
      format: 'date-time',
      description:
        'To which time to advance the clock, instead of `seconds`: in the future, such as the `expiresAt` of a payment.',
    }),
  ),
})
type AdvanceBody = Static<typeof AdvanceBody>

const EXAMPLE: Static<typeof TestClockRecord> = {
  advancedSeconds: 3_600,
  lastAdvancedAt: '2026-03-14T09:26:53.020Z',
  nextDueAt: '2026-03-15T08:27:31.020Z',
  isCaughtUp: true,
}

export function testClockRoutes(app: TestClockApp): Route[] {
  return [
    route({
      method: 'GET',
      path: PATH,
      tag: 'Misc',
      scope: 'checkout:read',
      operationId: 'testClock.get',
      summary: 'Get the test clock (staging only)',
      description: 'By how much you have advanced it, and when the next thing happens by itself.',
      response: { http: 200, data: TestClockRecord },
      errors: [],
      examples: { data: EXAMPLE },
      handle: async ({ merchant }) =>
        ok('Test clock retrieved.', toRecord(await readTestClock(app, merchant))),
    }),
    route({
      method: 'POST',
      path: `${PATH}/advance`,
      audited: false,
      tag: 'Misc',
      scope: 'checkout:write',
      operationId: 'testClock.advance',
      personScope: 'sandbox:write',
      summary: 'Advance the test clock (staging only)',
      description:
        'Lets time pass for you alone, by `seconds` or until `to`: checkouts and cards expire, money settles, charges, refunds and webhook deliveries are retried, disputes open and end. Everything that becomes due is done before the response, as far as that takes less than eight seconds. Scheduled times come nearer; records keep the real time at which they were made, so there is nothing to reset, and nothing is undone.',
      body: AdvanceBody,
      issues: (body) => advanceIssues(body, app.clock.now()),
      response: { http: 200, data: TestClockRecord },
      errors: ['invalid_state'],
      examples: { body: { seconds: 3_600 }, data: EXAMPLE },
      handle: async ({ merchant, body, idempotencyKey }) => {
        const { clock, replayed } = await advanceOnce(app, merchant, body, idempotencyKey)
        return ok('Test clock advanced.', toRecord(clock), replayed)
      },
    }),
  ]
}

/** Once per Idempotency-Key. The key is released if no time has passed: otherwise a retry would let it pass twice. */
async function advanceOnce(
  app: TestClockApp,
  merchant: Merchant,
  body: AdvanceBody,
  key: string | undefined,
): Promise<{ clock: TestClock; replayed: boolean }> {
  const now = app.clock.now()
  const claim = { merchantId: merchant.id, key, operation: `POST ${PATH}/advance`, input: body }
  const id = app.random.uuid()
  if ((await claimKey(app.db, claim, id, now)) !== undefined)
    return { clock: await readTestClock(app, merchant), replayed: true }
  try {
    return { clock: await advanceTestClock(app, merchant, toMs(body, now)), replayed: false }
  } catch (error) {
    const isUnchanged = error instanceof ApiError && error.code === 'invalid_state'
    if (key !== undefined && isUnchanged) await releaseIdempotencyKey(app.db, merchant.id, key, id)
    throw error
  }
}

function toMs({ seconds, to }: AdvanceBody, now: Date): number {
  if (seconds !== undefined) return seconds * 1_000
  return Math.max(new Date(to ?? now).getTime() - now.getTime(), 0)
}

function advanceIssues({ seconds, to }: Record<string, unknown>, now: Date): Issue[] {
  const isGiven = (value: unknown) => value !== undefined && value !== null
  if (isGiven(seconds) === isGiven(to))
    return [
      newIssue('seconds', 'validation_failed', 'Name either `seconds`, or the time `to` which to advance.'),
    ]
  if (typeof to !== 'string' || Number.isNaN(Date.parse(to))) return []
  const aheadMs = Date.parse(to) - now.getTime()
  if (aheadMs > 0 && aheadMs <= MAX_SECONDS * 1_000) return []
  return [newIssue('to', 'validation_failed', 'The clock only goes forwards, by at most ten years.')]
}

function toRecord({ advancedMs, advancedAt, nextDueAt, isCaughtUp }: TestClock) {
  return {
    advancedSeconds: Math.floor(advancedMs / 1_000),
    lastAdvancedAt: advancedAt?.toISOString() ?? null,
    nextDueAt: nextDueAt?.toISOString() ?? null,
    isCaughtUp,
  } satisfies Static<typeof TestClockRecord>
}
