import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { EVENT_TYPE_NAMES } from '../core/event-types.ts'
import { SANDBOX_INSTRUMENTS } from '../gateways/sandbox/index.ts'
import { PLAYABLE, recipeOf } from './recipes.ts'

const INSTRUMENTS: readonly string[] = SANDBOX_INSTRUMENTS.map(({ name }) => name)

/** What a recipe has before its first step. */
const GIVEN = ['reference', 'chargeReference', 'email', 'formToken']

const namesIn = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)

describe('the recipes of cowry trigger', () => {
  it('know every event: how it is made to happen, or why it cannot be', () => {
    for (const type of EVENT_TYPE_NAMES) {
      const recipe = recipeOf(type)
      if ('why' in recipe) assert.match(recipe.why, /^it .{20}/, type)
      else assert.ok(recipe.steps.length > 0 && PLAYABLE.includes(type), type)
    }
    assert.ok(PLAYABLE.length > EVENT_TYPE_NAMES.length * 0.75)
  })

  for (const type of PLAYABLE)
    it(`need for ${type} only what the steps before have kept`, () => {
      const recipe = recipeOf(type)
      assert.ok(!('why' in recipe))
      const known = new Set(GIVEN)
      for (const { path, body, keep } of recipe.steps) {
        // The braces of JSON itself are not around a word alone.
        for (const name of namesIn(path + JSON.stringify(body ?? {}))) assert.ok(known.has(name), name)
        for (const name of Object.keys(keep ?? {})) known.add(name)
        if (body && 'instrument' in body) assert.ok(INSTRUMENTS.includes(String(body.instrument)))
      }
      assert.ok(known.has(recipe.resource), 'the event is looked for by what it happens to')
    })
})
