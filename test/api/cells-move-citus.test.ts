// No merchant is moved into a cell on Citus, or out of it; that is refused before anything begins. The setting by which such a
// server is known needs no Citus.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { testService } from '../support/service.ts'

const service = await testService(
  { after },
  {
    cells: 2,
    isOwn: true,
    cellAddress: async (url) => `${url}?options=-ccitus.propagate_set_commands%3Dlocal`,
  },
)
const { admin, cells } = service
const shops = [await service.newMerchant(), await service.newMerchant()]

describe('a cell on Citus', () => {
  it('gets no merchant, and gives none away', async () => {
    for (const { uuid } of shops) {
      const cell = (await cells.of(uuid)) === 0 ? 'cell-1' : 'main'
      const answer = await admin.post(`/admin/v1/merchants/${uuid}/move`, { cell })
      assert.equal(answer.http, 400)
      assert.match(answer.text, /because of cell-1: no merchant is moved into a cell on Citus/)
    }
  })

  it('is not drained', async () => {
    const answer = await admin.post('/admin/v1/cells/cell-1/drain', {})
    assert.equal(answer.http, 400)
    assert.match(answer.text, /no merchant is moved into a cell on Citus/)
  })
})
