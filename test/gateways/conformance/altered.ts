// Malformed responses: each value of a good response is removed or replaced in turn. Money has moved by then, so a
// connector may report what is still readable, or unknown. A response about another payment must not end one of ours.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import type { Attempt, Gateway, Outcome, StartedCheckout } from '../../../src/gateways/gateway.ts'
import { shareOf, sized } from '../../support/scale.ts'
import type { Alteration } from '../fake-server.ts'
import { charge, prepareCharge } from './charge.ts'
import { assertUsable } from './checkout.ts'
import { assertNotFinal, assertUnknown, repliesEmpty, type Scenario, withFailureContext } from './faults.ts'
import { prepareRefund, refund } from './refund.ts'
import { CONCURRENCY, type Rig, startRig } from './rig.ts'
import { nameIn, type Subject, sizedFormOf } from './subject.ts'

/** Replaces a value; undefined removes it. */
const REPLACEMENTS: readonly unknown[] = [
  undefined,
  null,
  '',
  'javascript:alert(1)',
  'x'.repeat(5_000),
  -1,
  {},
]

export function testAltered(subject: Subject, gateway: Gateway): void {
  describe('a malformed response', { concurrency: CONCURRENCY }, () => {
    testAlteredCheckout(subject)
    if (gateway.chargeSaved) testAlteredCharge(subject)
    if (gateway.refund && !repliesEmpty(subject, 'refund')) testAlteredRefund(subject)
  })
}

function testAlteredCheckout(subject: Subject): void {
  it('never turns a paid checkout into anything but paid or unknown', sizedFormOf(subject), async (t) => {
    const rig = await startRig(t, subject)
    const { attempt, paid } = await rig.payNew()
    const scenario: AlteredScenario<Attempt, Outcome> = {
      rig,
      make: async () => attempt,
      act: () => rig.gateway.verify(attempt, paid.gatewayReference),
      check: async (_attempt, outcome) => assertPaidOrUnknown(outcome),
    }
    await alterEachValue(async () => scenario)
    assert.deepEqual(await rig.gateway.verify(attempt, paid.gatewayReference), paid)
  })

  it('is unknown if it has an unknown status', async (t) => {
    const rig = await startRig(t, subject)
    const { attempt, paid } = await rig.payNew()
    rig.provider.server.alter(renameStatuses(subject))
    assertUnknown(await rig.gateway.verify(attempt, paid.gatewayReference), ['unreadable', 'unrecognized'])
  })

  it('never turns a declined checkout into a paid or refused one', sizedFormOf(subject), async (t) => {
    const rig = await startRig(t, subject)
    const [ending] = declinesOf(subject, 'checkout')
    assert.ok(ending, 'every provider has declined checkouts')
    const { attempt, reference } = await rig.startNew()
    await rig.provider.finish(attempt.key, { kind: 'declines', how: ending })
    const scenario: AlteredScenario<Attempt, Outcome> = {
      rig,
      make: async () => attempt,
      act: () => rig.gateway.verify(attempt, reference),
      check: async (_attempt, outcome) => assertNotPaidNorRefused(outcome),
    }
    await alterEachValue(async () => scenario)
  })

  it('says nothing about a checkout if it is about another one that was not paid', async (t) => {
    const rig = await startRig(t, subject)
    const declines = declinesOf(subject, 'checkout').map((how) => ({ kind: 'declines', how }) as const)
    for (const ending of [{ kind: 'waits' } as const, ...declines]) {
      const { attempt, reference } = await rig.startNew()
      await rig.provider.finish(attempt.key, ending)
      await withFailureContext(`with ${inspect(ending)}`, () =>
        assertIgnoresOtherPayment(
          rig,
          subject.keylessRecords ? [reference, randomUUID()] : namesOf(subject, attempt),
          () => rig.gateway.verify(attempt, reference),
        ),
      )
    }
  })

  if (repliesEmpty(subject, 'checkout')) return
  it('never redirects a payer to an invalid URL', sizedFormOf(subject), async (t) => {
    const rig = await startRig(t, subject)
    const scenario: AlteredScenario<Attempt, StartedCheckout | Outcome> = {
      rig,
      make: async () => rig.makeAttempt(),
      act: (attempt) => rig.start(attempt),
      async check(_attempt, answer) {
        if (answer.kind === 'started') assertUsable(answer.next)
        else assertNotFinal(answer)
      },
    }
    await alterEachValue(async () => scenario)
  })
}

function testAlteredCharge(subject: Subject): void {
  it(
    'never turns an approved charge into anything but charged or unknown',
    sizedFormOf(subject),
    async (t) => {
      const { rig, credential } = await prepareCharge(t, subject, 'approves')
      const scenario: AlteredScenario<Attempt, Outcome> = {
        rig,
        make: async () => rig.makeAttempt('charge'),
        act: (attempt) => charge(rig.gateway, attempt, credential),
        // A malformed response before the completing call: that was not sent.
        check: async (_attempt, outcome) => {
          if (!(rig.gateway.complete && isNotSent(outcome))) assertPaidOrUnknown(outcome)
        },
      }
      await alterEachValue(async () => scenario)
    },
  )

  it('never turns a declined charge into a paid or refused one', sizedFormOf(subject), async (t) => {
    const [how] = declinesOf(subject, 'charge')
    assert.ok(how, 'every provider has declined charges')
    const { rig, credential } = await prepareCharge(t, subject, { declines: how })
    const scenario: AlteredScenario<Attempt, Outcome> = {
      rig,
      make: async () => rig.makeAttempt('charge'),
      act: (attempt) => charge(rig.gateway, attempt, credential),
      check: async (_attempt, outcome) => assertNotPaidNorRefused(outcome),
    }
    await alterEachValue(async () => scenario)
  })

  it('says nothing about a charge if it is about another one that was not paid', async (t) => {
    for (const how of declinesOf(subject, 'charge')) {
      const { rig, attempt, credential } = await prepareCharge(t, subject, { declines: how })
      await withFailureContext(`with ${how}`, () =>
        assertIgnoresOtherPayment(rig, namesOf(subject, attempt), () =>
          charge(rig.gateway, attempt, credential),
        ),
      )
    }
  })
}

function testAlteredRefund(subject: Subject): void {
  it('never reports an executed refund as failed', sizedFormOf(subject), (t) =>
    // A new scenario for each value: a provider that lists its refunds would list more of them with every run.
    alterEachValue(async () => {
      const { rig, prepareOne } = await prepareRefund(t, subject)
      return {
        rig,
        make: prepareOne,
        act: ({ request }) => refund(rig.gateway, request),
        async check({ given }, outcome) {
          if (outcome.kind === 'failed') assert.deepEqual(await given(), [])
        },
      }
    }),
  )

  it('leaves a refund unknown if it has an unknown status', async (t) => {
    const { rig, request } = await prepareRefund(t, subject)
    rig.provider.server.alter(renameStatuses(subject))
    assertUnknown(await refund(rig.gateway, request), ['unreadable', 'unrecognized'])
  })
}

/** The name of the attempt in the provider's records, and that of another one. */
const namesOf = (subject: Subject, { key }: Attempt) =>
  [nameIn(subject, key), nameIn(subject, randomUUID())] as const

function declinesOf(subject: Subject, operation: Attempt['operation']): string[] {
  return subject.declines.filter(({ on }) => on === operation).map(({ how }) => how)
}

/** Replaces the name of the payment with another one everywhere in the response. */
async function assertIgnoresOtherPayment(
  rig: Rig,
  [name, otherName]: readonly [string, string],
  ask: () => Promise<Outcome>,
): Promise<void> {
  const responses: string[] = []
  rig.provider.server.alter((value) => {
    const text = JSON.stringify(value)
    responses.push(text)
    return JSON.parse(text.replaceAll(name, otherName))
  })
  const outcome = await ask()
  rig.provider.server.clearFaults()
  assert.ok(
    responses.some((text) => text.includes(name)),
    `no response of the provider names the payment ${name} (nameOf and keylessRecords of the subject say how it does): ${responses.join('\n')}`,
  )
  assertUnknown(outcome, ['unreadable', 'unrecognized'])
}

function assertNotPaidNorRefused(outcome: Outcome): void {
  assert.notEqual(outcome.kind, 'succeeded', inspect(outcome))
  if (outcome.kind === 'declined') assert.equal(outcome.refused, undefined, inspect(outcome))
}

const isNotSent = (outcome: Outcome) => outcome.kind === 'unknown' && outcome.reason === 'not_sent'

function assertPaidOrUnknown(outcome: Outcome): void {
  if (outcome.kind !== 'succeeded') assertUnknown(outcome, ['unreadable', 'unrecognized'])
  else assertComplete(outcome)
}

function assertComplete(outcome: Extract<Outcome, { kind: 'succeeded' }>): void {
  assert.ok(!Number.isNaN(outcome.paidAt?.getTime() ?? 0), inspect(outcome))
  assert.equal(typeof outcome.key, 'string')
  assert.notEqual(outcome.gatewayReference, '')
  if (outcome.savedMethod) assert.notEqual(outcome.savedMethod.credential, '')
}

type AlteredScenario<Thing, Answer> = Scenario<Thing, Answer> & { rig: Rig }

// In the quick form every third value gets this many replacements, beginning with another one than the value before.
const REPLACEMENTS_PER_VALUE = sized({ quick: 1, rest: REPLACEMENTS.length, long: REPLACEMENTS.length })

function replacementsFor(index: number): unknown[] {
  return Array.from({ length: REPLACEMENTS_PER_VALUE }, (_, offset) => {
    const place = index * REPLACEMENTS_PER_VALUE + offset
    return REPLACEMENTS[place % REPLACEMENTS.length]
  })
}

/** Runs the operation for each value in its responses with the replacements; begin runs for each value. */
async function alterEachValue<Thing, Answer>(
  begin: () => Promise<AlteredScenario<Thing, Answer>>,
): Promise<void> {
  const jsonPaths = await findJsonPaths(await begin())
  assert.ok(jsonPaths.length > 0, 'the provider responds with JSON')
  for (const [index, jsonPath] of shareOf([...jsonPaths.entries()], 0)) {
    const scenario = await begin()
    for (const replacement of replacementsFor(index)) {
      const shown = inspect(replacement, { maxStringLength: 40 })
      await withFailureContext(`with ${jsonPath.join('.')} replaced by ${shown}`, () =>
        alter(scenario, jsonPath, replacement),
      )
    }
  }
}

async function alter<Thing, Answer>(
  { rig, make, act, check }: AlteredScenario<Thing, Answer>,
  jsonPath: JsonPath,
  replacement: unknown,
): Promise<void> {
  const thing = await make()
  rig.provider.server.alter((value) => replaceAt(value, jsonPath, replacement))
  const answer = await act(thing)
  rig.provider.server.clearFaults()
  await check(thing, answer)
}

type JsonPath = readonly string[]

/** The paths of the values in the responses. */
async function findJsonPaths<Thing, Answer>({
  rig,
  make,
  act,
}: AlteredScenario<Thing, Answer>): Promise<JsonPath[]> {
  const jsonPaths = new Map<string, JsonPath>()
  const thing = await make()
  rig.provider.server.alter((value) => {
    for (const jsonPath of jsonPathsIn(value)) jsonPaths.set(jsonPath.join('.'), jsonPath)
    return value
  })
  await act(thing)
  return [...jsonPaths.values()]
}

function jsonPathsIn(value: unknown, jsonPath: JsonPath = []): JsonPath[] {
  if (value === null || typeof value !== 'object') return [jsonPath]
  const inner = Object.entries(value).flatMap(([name, one]) => jsonPathsIn(one, [...jsonPath, name]))
  return jsonPath.length > 0 ? [jsonPath, ...inner] : inner
}

function replaceAt(value: unknown, [name, ...rest]: JsonPath, replacement: unknown): unknown {
  if (name === undefined) return replacement
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value))
    return value.map((one, index) => (String(index) === name ? replaceAt(one, rest, replacement) : one))
  // A path of one response need not exist in another.
  if (!(name in value)) return value
  const inner = new Map(Object.entries(value))
  inner.set(name, replaceAt(inner.get(name), rest, replacement))
  return Object.fromEntries(inner)
}

const STATUS_NAME = /status$|^(?:response|result)code$/i

/** Gives every status a value that no provider has. */
function renameStatuses({ booleanStatuses = [] }: Subject): Alteration {
  const isStatus = (name: string, value: unknown) =>
    typeof value === 'string' ? STATUS_NAME.test(name) : booleanStatuses.includes(name)
  const rename: Alteration = (value) => {
    if (Array.isArray(value)) return value.map(rename)
    if (value === null || typeof value !== 'object') return value
    const entries = Object.entries(value).map(([name, one]) =>
      isStatus(name, one) ? [name, 'made_up_by_a_test'] : [name, rename(one)],
    )
    return Object.fromEntries(entries)
  }
  return rename
}
