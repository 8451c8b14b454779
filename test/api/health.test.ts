import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { assertApiError } from '../support/assertions.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'
import { runAsAdmin, withDatabase } from '../support/template.ts'

const service = await testService({ after })
const anonymous = service.apiWith(undefined)

it('reports that it is alive and ready, without a key', async () => {
  const alive = await anonymous.get('/healthz')
  assert.equal(alive.http, 200)
  assert.deepEqual(alive.body, { status: 'ok' })
  const ready = await anonymous.get('/readyz')
  assert.equal(ready.http, 200)
  assert.deepEqual(ready.body, { status: 'ready', reasons: [] })
  assert.equal((await anonymous.send('HEAD', '/healthz')).http, 200)
})

it('stays alive while the database is away, answers 503 with Retry-After, and recovers', async () => {
  const database = new URL(service.databaseUrl).pathname.slice(1)
  const server = withDatabase(service.databaseUrl, 'postgres')
  await runAsAdmin(server, `alter database ${database} with allow_connections false`)
  await runAsAdmin(
    server,
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'`,
  )
  try {
    assert.equal((await anonymous.get('/healthz')).http, 200)
    const ready = await anonymous.get('/readyz')
    assert.equal(ready.http, 503)
    assert.deepEqual(ready.body, { status: 'unavailable', reasons: ['The database does not answer.'] })
    const refused = await service.api.send('GET', '/api/v1/wallet/balance')
    assertApiError(refused, 'temporarily_unavailable')
    assert.equal(refused.headers.get('retry-after'), '1')
  } finally {
    await runAsAdmin(server, `alter database ${database} with allow_connections true`)
  }
  await eventually(
    () => anonymous.get('/readyz'),
    ({ http }) => http === 200,
    10_000,
  )
  assert.equal((await service.api.get('/api/v1/wallet/balance')).http, 200)
})
