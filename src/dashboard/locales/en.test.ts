import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CASE_KIND_NAMES, kindFacts } from '../../cases/case-kinds.ts'
import { CHANNELS } from '../../gateways/gateway.ts'
import { PAYMENT_STATUSES } from '../../payments/states.ts'
import { EN } from './en.ts'

describe('the texts of the dashboard', () => {
  it('has words for every value of the API that people see', () => {
    const ids = [
      ...PAYMENT_STATUSES.map((status) => `status_${status}`),
      ...[...CHANNELS, 'saved'].map((channel) => `channel_${channel}`),
      ...CASE_KIND_NAMES.map((kind) => `case_${kind}`),
      ...CASE_KIND_NAMES.flatMap((kind) => kindFacts(kind).resolutions).map((one) => `resolution_${one}`),
    ]
    assert.deepEqual(
      ids.filter((id) => !Object.hasOwn(EN, id)),
      [],
    )
  })
})
