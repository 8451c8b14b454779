import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FAILURES, type FailureCode } from '../../core/failures.ts'
import type { Channel } from '../../gateways/gateway.ts'
import { EN } from '../locales/en.ts'
import { adviceAfterDecline } from './decline-messages.ts'

// A boundary: the keys of the table are the codes.
const CODES = Object.keys(FAILURES) as FailureCode[]

describe('the advice after a decline', () => {
  it('names another way to pay only where the page offers one', () => {
    const naming = (...channels: Channel[]) =>
      CODES.filter((code) =>
        /another way/.test(EN[adviceAfterDecline({ channels, networks: [], attempt: undefined }, code)]),
      )
    assert.deepEqual(naming('card'), [])
    assert.ok(naming('card', 'mobile_money').length > 5)
  })
})
