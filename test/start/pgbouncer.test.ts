// The service behind pgbouncer in transaction mode, where clients share server connections between transactions. A small
// pool makes sure that they do.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { chargeBody, initiateBody, saveMethod } from '../support/builders.ts'
import { type Cleanup, testDatabaseUrl } from '../support/database.ts'
import { makeOneOfEverything } from '../support/one-of-everything.ts'
import { findPgbouncer, type PgbouncerOptions, startPgbouncer } from '../support/pgbouncer.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'
import { withDatabase } from '../support/template.ts'

const program = findPgbouncer()
const ABSENT = 'this machine has no pgbouncer; COWRY_TEST_PGBOUNCER names one'

// The service ends before pgbouncer and the database.
const endings: (() => Promise<void>)[] = []
const inTurn: Cleanup = { after: (fn) => void endings.unshift(fn) }
after(async () => {
  for (const end of endings) await end()
})

async function through(options: PgbouncerOptions): Promise<string> {
  const direct = await testDatabaseUrl(inTurn)
  const pgbouncer = await startPgbouncer(direct, options)
  inTurn.after(() => pgbouncer.stop())
  return withDatabase(pgbouncer.url, new URL(direct).pathname.slice(1))
}

/** All groups of operations in parallel, and the background jobs. */
async function walk(databaseUrl: string, prepared: boolean): Promise<void> {
  const env = { COWRY_PREPARED_STATEMENTS: String(prepared) }
  const service = await testService(inTurn, { databaseUrl, env })
  const { api } = await service.newMerchant()
  await makeOneOfEverything(api, 'Pooled')
  const charge = chargeBody(await saveMethod(api, 'card_success'))
  const charges = await Promise.all(
    Array.from({ length: 20 }, () => api.post('/api/v1/charges/recurring', charge)),
  )
  assert.deepEqual([...new Set(charges.map(({ http }) => http))], [201])
  const initiates = await Promise.all(
    Array.from({ length: 40 }, () => api.post('/api/v1/checkout/initiate-payment', initiateBody())),
  )
  assert.deepEqual([...new Set(initiates.map(({ http }) => http))], [201])
  const late = chargeBody(await saveMethod(api, 'card_lost_answer_later'))
  const { body } = await api.post('/api/v1/charges/recurring', late)
  assert.equal(body.data.status, 'processing')
  await eventually(
    async () => (await api.get(`/api/v1/charges/${body.data.uuid}`)).body.data.status,
    (status) => status === 'successful',
    10_000,
  )
}

describe('pgbouncer in transaction mode', () => {
  it('works with prepared statements behind pgbouncer, from 1.21 on', async (t) => {
    if (!program) return t.skip(ABSENT)
    if (Number(program.version.split('.')[1]) < 21) return t.skip(`pgbouncer here is ${program.version}`)
    const url = await through({ poolSize: 3 })
    await walk(url, true)
  })

  it('works without prepared statements behind every version of pgbouncer', async (t) => {
    if (!program) return t.skip(ABSENT)
    const url = await through({ poolSize: 3 })
    await walk(url, false)
  })

  it('rejects a start without timeouts, and names the settings', async (t) => {
    if (!program) return t.skip(ABSENT)
    const url = await through({ setsTimeouts: false })
    await assert.rejects(testService(inTurn, { databaseUrl: url }), /no timeouts.*connect_query=/s)
  })
})
