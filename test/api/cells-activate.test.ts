// A cell is activated only if its merchants could be moved out of it again.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { saveCellState } from '../../src/kit/cells/queries.ts'
import { dataOf } from '../support/cases.ts'
import { plainAddress } from '../support/cells.ts'
import { NO_POOLER } from '../support/database.ts'
import { testService } from '../support/service.ts'
import { connectTestDb } from '../support/test-db.ts'

describe('the activation of a cell', NO_POOLER, () => {
  it('is refused while its user may not copy merchants, with what to grant', async (t) => {
    const plain = plainAddress(t)
    let user = ''
    let owner: ReturnType<typeof connectTestDb> | undefined
    t.after(() => owner?.close())
    const cellAddress = async (given: string) => {
      const url = new URL(await plain(given))
      owner = connectTestDb({ url: url.href, poolSize: 1 })
      const database = url.pathname.slice(1)
      user = `${database}_user`
      await owner.script(`create role ${user} login password 'secret-1';
grant cowry_merchant to ${user};
alter database ${database} owner to ${user};
drop schema if exists sandbox, public cascade;
create schema public authorization ${user}`)
      url.username = user
      url.password = 'secret-1'
      return url.href
    }
    const service = await testService(t, { cells: 2, cellAddress, isOwn: true })
    await saveCellState(service.cells.open(0), 'cell-1', 'added')
    const activate = () => service.admin.post('/admin/v1/cells/cell-1/activate', {})
    const refused = await activate()
    assert.equal(refused.http, 400, refused.text)
    assert.match(
      refused.text,
      /could not be drained later: .* grant set on parameter session_replication_role/,
    )
    const stateOf = async () => dataOf(await service.admin.get('/admin/v1/cells'))[1].state
    assert.equal(await stateOf(), 'added')
    await owner?.script(`grant set on parameter session_replication_role to ${user}`)
    const answer = await activate()
    assert.equal(answer.http, 200, answer.text)
    assert.equal(await stateOf(), 'active')
    assert.equal((await service.admin.post('/admin/v1/cells/cell-1/drain', {})).http, 200)
  })
})
