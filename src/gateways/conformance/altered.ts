// Answers that are not quite what the provider promised: each value of a good answer is taken away or replaced in turn.
// Money has been taken by then, so that "declined" and "pending" are lies; only what can still be read, or unknown.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import type { Alteration } from '../fake-server.ts'
import type { Outcome } from '../gateway.ts'
import { assertUsable } from './checkout.ts'
import { CONCURRENCY, type Rig, startRig } from './rig.ts'
import type { Subject } from './subject.ts'
import { assertOpen, assertUnknown } from './troubles.ts'

/** What stands in place of a value; undefined takes it away. */
const REPLACEMENTS: readonly unknown[] = [
  undefined,
  null,
  '',
  'javascript:alert(1)',
  'x'.repeat(5_000),
  -1,
  1e21,
  {},
  [],
]

export function testAltered(subject: Subject, charges: boolean): void {
  describe('an answer that is not as promised', { concurrency: CONCURRENCY }, () => {
    it('never makes a paid checkout anything but paid or unknown', async (t) => {
      const rig = await startRig(t, subject)
      const { attempt, paid } = await rig.payNew()
      const ask = () => rig.gateway.verify(attempt, paid.gatewayReference)
      await alterEverything(rig, ask, async (ask) => assertPaidOrUnknown(await ask()))
      assert.deepEqual(await ask(), paid)
    })

    it('is unknown when it has a status that nobody has heard of', async (t) => {
      const rig = await startRig(t, subject)
      const { attempt, paid } = await rig.payNew()
      rig.provider.server.alter(renameStatuses)
      assertUnknown(await rig.gateway.verify(attempt, paid.gatewayReference), ['unreadable'])
    })

    it('never sends a payer to what is no web address', async (t) => {
      const rig = await startRig(t, subject)
      const ask = () => rig.start(rig.makeAttempt())
      await alterEverything(rig, ask, async (ask) => {
        const answer = await ask()
        if (answer.kind === 'started') assertUsable(answer.next)
        else assertOpen(answer)
      })
    })

    if (charges)
      it('never makes an approved charge anything but charged or unknown', async (t) => {
        const rig = await startRig(t, subject)
        const credential = await rig.provider.savedCredential?.('approves')
        assert.ok(credential, 'the fake provider has saved credentials')
        const ask = async () => {
          const outcome = await rig.gateway.chargeSaved?.(rig.makeAttempt('charge'), credential)
          assert.ok(outcome, 'the gateway charges saved methods')
          return outcome
        }
        await alterEverything(rig, ask, async (ask) => assertPaidOrUnknown(await ask()))
      })
  })
}

function assertPaidOrUnknown(outcome: Outcome): void {
  if (outcome.kind !== 'succeeded') assertUnknown(outcome, ['unreadable'])
  else assertWhole(outcome)
}

function assertWhole(outcome: Extract<Outcome, { kind: 'succeeded' }>): void {
  assert.ok(!Number.isNaN(outcome.paidAt.getTime()), inspect(outcome))
  assert.equal(typeof outcome.key, 'string')
  assert.notEqual(outcome.gatewayReference, '')
  if (outcome.savedMethod) assert.notEqual(outcome.savedMethod.credential, '')
}

/** Checks the answer to the same question once for every value in it and every replacement. */
async function alterEverything<Answer>(
  rig: Rig,
  ask: () => Promise<Answer>,
  check: (ask: () => Promise<Answer>) => Promise<void>,
): Promise<void> {
  const { server } = rig.provider
  const places = await findPlaces(rig, ask)
  assert.ok(places.length > 0, 'the provider answers in JSON')
  for (const place of places)
    for (const replacement of REPLACEMENTS) {
      server.alter((value) => replaceAt(value, place, replacement))
      try {
        await check(ask)
      } catch (cause) {
        const told = inspect(replacement, { maxStringLength: 40 })
        throw new Error(`with ${place.join('.')} replaced by ${told}`, { cause })
      }
    }
  server.calm()
}

type Place = readonly string[]

/** Where the values of the answers stand. */
async function findPlaces(rig: Rig, ask: () => Promise<unknown>): Promise<Place[]> {
  const places = new Map<string, Place>()
  rig.provider.server.alter((value) => {
    for (const place of placesIn(value)) places.set(place.join('.'), place)
    return value
  })
  await ask()
  return [...places.values()]
}

function placesIn(value: unknown, place: Place = []): Place[] {
  if (value === null || typeof value !== 'object') return [place]
  const inner = Object.entries(value).flatMap(([name, one]) => placesIn(one, [...place, name]))
  return place.length > 0 ? [place, ...inner] : inner
}

function replaceAt(value: unknown, [name, ...rest]: Place, replacement: unknown): unknown {
  if (name === undefined) return replacement
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value))
    return value.map((one, index) => (String(index) === name ? replaceAt(one, rest, replacement) : one))
  // A place of one answer need not be in another.
  if (!(name in value)) return value
  const inner = new Map(Object.entries(value))
  inner.set(name, replaceAt(inner.get(name), rest, replacement))
  return Object.fromEntries(inner)
}

const renameStatuses: Alteration = (value) => {
  if (Array.isArray(value)) return value.map(renameStatuses)
  if (value === null || typeof value !== 'object') return value
  const entries = Object.entries(value).map(([name, one]) =>
    /status$/i.test(name) && typeof one === 'string'
      ? [name, 'made_up_by_a_test']
      : [name, renameStatuses(one)],
  )
  return Object.fromEntries(entries)
}
