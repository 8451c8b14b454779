// An operator resolves a case of a merchant that is moved at that moment.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { insertMove } from '../../src/cells/moves/move-queries.ts'
import { NO_FAILPOINTS } from '../../src/kit/failpoints.ts'
import type { ApiResponse } from '../support/api.ts'
import { payWith } from '../support/builders.ts'
import { CASES, dataOf, OPERATOR_CASES } from '../support/cases.ts'
import { plainAddress } from '../support/cells.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

let atStep: (name: string) => Promise<void> = async () => undefined
const service = await testService(
  { after },
  {
    ...{ cells: 2, cellAddress: plainAddress({ after }), isOwn: true },
    failpoints: { ...NO_FAILPOINTS, hit: (name) => atStep(name) },
  },
)
const { admin, cells } = service
const WITHIN_MS = 120_000

describe('a case of a merchant that is moved', () => {
  it('is resolved by an operator during the switch', async () => {
    const { uuid } = dataOf(await admin.post('/admin/v1/merchants', { name: 'Moved', cell: 'main' }))
    const { apiKey } = dataOf(
      await admin.post(`/admin/v1/merchants/${uuid}/keys`, { name: 'x', scopes: ['*'] }),
    )
    const api = service.apiWith(apiKey)
    await payWith(api, 'transfer_underpaid', { amount: 1250.5 })
    const [{ uuid: openCase }] = dataOf(await api.get(CASES))
    const resolved: Promise<ApiResponse>[] = []
    atStep = async (name) => {
      if (name === 'move.after_close' && resolved.length === 0)
        resolved.push(
          admin.post(`${OPERATOR_CASES}/${openCase}/resolve`, { resolution: 'accept', note: 'Enough.' }),
        )
    }
    await insertMove(cells.open(0), { merchantId: uuid, toCell: 1, keepSeconds: 600 }, new Date())
    await eventually(
      () => cells.of(uuid),
      (cell) => cell === 1,
      WITHIN_MS,
    )
    const answer = await resolved[0]
    assert.ok(answer)
    assert.equal(answer.http, 200, answer.text)
    const [seen] = dataOf(await api.get(`${CASES}?state=all`))
    assert.equal(seen.state, 'resolved')
  })
})
