import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { EVENT_TYPE_NAMES } from '../core/event-types.ts'
import { SANDBOX_INSTRUMENTS } from '../gateways/sandbox/index.ts'
import { scenarioOf, TRIGGERABLE } from './scenarios.ts'

const INSTRUMENTS: readonly string[] = SANDBOX_INSTRUMENTS.map(({ name }) => name)

/** The variables of a scenario before its first step. */
const GIVEN = ['reference', 'chargeReference', 'email', 'formToken']

const namesIn = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)

describe('the scenarios of cowry trigger', () => {
  it('cover every event type, or say why it cannot be triggered', () => {
    for (const type of EVENT_TYPE_NAMES) {
      const scenario = scenarioOf(type)
      if ('reason' in scenario) assert.match(scenario.reason, /^it .{20}/, type)
      else assert.ok(scenario.steps.length > 0 && TRIGGERABLE.includes(type), type)
    }
    assert.ok(TRIGGERABLE.length > EVENT_TYPE_NAMES.length * 0.75)
  })

  for (const type of TRIGGERABLE)
    it(`use for ${type} only variables that earlier steps have saved`, () => {
      const scenario = scenarioOf(type)
      assert.ok(!('reason' in scenario))
      const known = new Set(GIVEN)
      for (const { path, body, capture } of scenario.steps) {
        // The braces of JSON itself do not enclose a single word.
        for (const name of namesIn(path + JSON.stringify(body ?? {}))) assert.ok(known.has(name), name)
        for (const name of Object.keys(capture ?? {})) known.add(name)
        if (body && 'instrument' in body) assert.ok(INSTRUMENTS.includes(String(body.instrument)))
      }
      assert.ok(known.has(scenario.resource), 'the event is looked for by what it happens to')
    })
})
