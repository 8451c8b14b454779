// Access tokens that processes share through PostgreSQL, with a provider that counts its grants.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, describe, it, type TestContext } from 'node:test'
import { inspect } from 'node:util'
import { purgeTokens } from '../../../src/gateway-tokens/queries.ts'
import { clearTokens } from '../../../src/gateway-tokens/store.ts'
import { connectDb, sql } from '../../../src/kit/db/db.ts'
import { testDatabaseUrl } from '../../support/database.ts'
import { frozenClock } from '../../support/fake-clock.ts'
import { LARGER_FORM_ONLY } from '../../support/scale.ts'
import { CREDENTIALS, startFakeTokenpay } from './fake.ts'
import { BUSY_TIMEOUT_MS, charge, chargeMany, startTokenpayProcess } from './processes.ts'

const HOUR = 3_600_000
const RATION = { grants: 2, perMs: HOUR }

let db: ReturnType<typeof connectDb> | undefined
after(async () => db?.close())
const databaseUrl = await testDatabaseUrl({ after })
db = connectDb({ url: databaseUrl, poolSize: 4 })
const unscopedDb = db

type Options = Partial<Parameters<typeof startTokenpayProcess>[0]>

const selectRows = sql<{ sealed: string | null; grants: number; leased: boolean }>`
select sealed, cardinality(grants) as grants, leased_until is not null as leased
from gateway_tokens
where gateway = $1`

// Every test has a provider, a gateway name and so a token of its own.
async function startTest(t: TestContext) {
  const provider = await startFakeTokenpay(t)
  const gateway = `tokenpay_${randomUUID().slice(0, 8)}`
  const clock = frozenClock()
  const rows = () => unscopedDb.query(selectRows, [gateway])
  return {
    ...{ provider, gateway, clock, rows },
    startProcess(options: Options = {}) {
      const owner = { gateway, ...options.owner }
      const running = startTokenpayProcess({
        ...{ databaseUrl, providerUrl: provider.server.url, clock },
        ...options,
        owner,
      })
      t.after(() => running.close())
      return running
    },
    /** Time passes for the database and for the processes. */
    async passTime(ms: number) {
      clock.advance(ms)
      await unscopedDb.query(shiftTimes, [gateway, ms])
    },
  }
}

const SHIFTED = ['granted_at', 'renew_at', 'expires_at', 'leased_until', 'retry_at', 'purge_at']
const shiftTimes = sql<unknown>`
update gateway_tokens
set
  ${SHIFTED.map((column) => `${column} = ${column} - $2::float8 * interval '1 ms'`).join(', ')},
  grants = array(select at - $2::float8 * interval '1 ms' from unnest(grants) as g (at))
where gateway = $1`

describe('the access token of an account', () => {
  it('is granted once for 1,000 parallel charges of two processes after it has expired', async (t) => {
    const { provider, startProcess, passTime } = await startTest(t)
    const patient = { owner: { timeoutMs: BUSY_TIMEOUT_MS } }
    const processes = [startProcess(patient), startProcess(patient)]
    for (const { gateway } of processes) assert.equal(await chargeMany(gateway, 1), 1)
    assert.equal(provider.grants(), 1)
    provider.rejectTokens()
    await passTime(HOUR)
    const succeeded = await Promise.all(processes.map(({ gateway }) => chargeMany(gateway, 500)))
    assert.deepEqual(succeeded, [500, 500])
    assert.equal(provider.grants(), 2)
  })

  it('is granted once for 1,000 parallel charges of two real processes', LARGER_FORM_ONLY, async (t) => {
    const provider = await startFakeTokenpay(t)
    const program = join(import.meta.dirname, 'processes.ts')
    const args = [program, databaseUrl, provider.server.url, '500']
    const children = [1, 2].map(() => spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] }))
    t.after(() => children.map((child) => child.kill('SIGKILL')))
    const lines = children.map(({ stdout }) => once(stdout, 'data'))
    for (const [ready] of await Promise.all(lines)) assert.equal(String(ready), 'ready\n')
    const counts = children.map(({ stdout }) => once(stdout, 'data'))
    for (const { stdin } of children) stdin.write('go\n')
    for (const [count] of await Promise.all(counts)) assert.equal(String(count), '500\n')
    assert.equal(provider.grants(), 1)
  })

  it('survives a restart, and is stored encrypted and bound to its row', async (t) => {
    const { provider, gateway, startProcess, rows } = await startTest(t)
    await charge(startProcess().gateway)
    assert.equal((await charge(startProcess().gateway)).kind, 'succeeded')
    assert.equal(provider.grants(), 1)
    assert.match((await rows())[0]?.sealed ?? '', /^v1\.test\./)
    // The ciphertext of another row is not a token of this one.
    const other = await startTest(t)
    await charge(other.startProcess().gateway)
    await unscopedDb.query(copySealed, [gateway, other.gateway])
    assert.equal((await charge(startProcess().gateway)).kind, 'succeeded')
    assert.equal(provider.grants(), 2)
  })

  it('is shared by gateways and accounts with the same credentials', async (t) => {
    const { provider, gateway, startProcess } = await startTest(t)
    await charge(startProcess().gateway)
    const labelled = startProcess({ owner: { gateway: `${gateway}_ug`, accountId: randomUUID() } })
    assert.equal((await charge(labelled.gateway)).kind, 'succeeded')
    assert.equal(provider.grants(), 1)
  })

  it('is not used after the credentials have changed', async (t) => {
    const { provider, startProcess } = await startTest(t)
    await charge(startProcess().gateway)
    const other = startProcess({ credentials: { ...CREDENTIALS, appSecret: 'wrong' } })
    const outcome = await charge(other.gateway)
    assert.ok(outcome.kind === 'declined' && outcome.refused, inspect(outcome))
    assert.equal(provider.grants(), 2)
    // The wrong secret did not spoil the token of the right one.
    assert.equal((await charge(startProcess().gateway)).kind, 'succeeded')
    assert.equal(provider.grants(), 2)
  })

  it('is renewed five minutes before its end, while it stays in use', async (t) => {
    const { provider, startProcess, passTime } = await startTest(t)
    const { gateway, settle } = startProcess()
    await charge(gateway)
    await passTime(HOUR - 6 * 60_000)
    await charge(gateway)
    assert.equal(provider.grants(), 1)
    await passTime(2 * 60_000)
    provider.server.injectFault('slow', { on: /oauth/ })
    assert.equal((await charge(gateway)).kind, 'succeeded')
    await settle()
    assert.equal(provider.grants(), 2)
  })

  it('stays in use until its end if it cannot be renewed', async (t) => {
    const { provider, startProcess, passTime } = await startTest(t)
    await charge(startProcess().gateway)
    provider.server.injectFault('http_500', { on: /oauth/ })
    for (const minutes of [56, 2, 1]) {
      await passTime(minutes * 60_000)
      const { gateway, settle } = startProcess()
      assert.equal((await charge(gateway)).kind, 'succeeded')
      await settle()
    }
    await passTime(60_000)
    const outcome = await charge(startProcess().gateway)
    assert.ok(outcome.kind === 'unknown' && outcome.reason === 'not_sent', inspect(outcome))
  })

  it('is requested by another process after the lease of one that died', async (t) => {
    const { provider, gateway, clock, startProcess, passTime, rows } = await startTest(t)
    await charge(startProcess().gateway)
    provider.rejectTokens()
    await passTime(2 * HOUR)
    await unscopedDb.query(leaseToken, [gateway])
    const polled = Promise.withResolvers<void>()
    const sleep = (ms: number, signal?: AbortSignal) => {
      polled.resolve()
      return clock.sleep(ms, signal)
    }
    const waiting = charge(startProcess({ clock: { ...clock, sleep } }).gateway)
    await polled.promise
    assert.equal(provider.grants(), 1)
    await unscopedDb.query(shiftTimes, [gateway, 60_000])
    assert.equal((await waiting).kind, 'succeeded')
    assert.equal(provider.grants(), 2)
    assert.equal((await rows())[0]?.leased, false)
  })

  it('is not requested again and again if the provider rejects new tokens too', async (t) => {
    const { provider, startProcess } = await startTest(t)
    const { gateway } = startProcess()
    await charge(gateway)
    for (const _ of [1, 2, 3]) {
      provider.rejectTokens()
      const outcome = await charge(gateway)
      assert.ok(outcome.kind === 'declined' && outcome.refused, inspect(outcome))
    }
    assert.equal(provider.grants(), 1)
  })

  it('is deleted with its revoked account, but its grants stay counted', async (t) => {
    const { provider, startProcess, rows } = await startTest(t)
    const accountId = randomUUID()
    await charge(startProcess({ owner: { accountId }, ration: RATION }).gateway)
    assert.equal(provider.grants(), 1)
    await clearTokens(unscopedDb, accountId)
    assert.deepEqual(await rows(), [{ sealed: null, grants: 1, leased: false }])
  })

  it('is purged long after it has expired', async (t) => {
    const { startProcess, passTime, rows } = await startTest(t)
    await charge(startProcess().gateway)
    await passTime(HOUR + 59 * 60_000)
    await purgeTokens(unscopedDb)
    assert.equal((await rows()).length, 1)
    await passTime(2 * 60_000)
    await purgeTokens(unscopedDb)
    assert.deepEqual(await rows(), [])
  })

  it('cannot be read in the name of a merchant', async () => {
    const scoped = unscopedDb.forMerchant(randomUUID())
    await assert.rejects(scoped.query(selectRows, ['tokenpay']), /permission denied/)
  })

  it('stays in use while the database does not answer', async (t) => {
    const { provider, startProcess, clock } = await startTest(t)
    const { gateway, log, cutDatabase } = startProcess()
    await charge(gateway)
    await cutDatabase()
    clock.advance(60_000)
    assert.equal((await charge(gateway)).kind, 'succeeded')
    assert.ok(log.some(({ key }) => key === 'gateway.token_error'))
    assert.equal(provider.grants(), 1)
    clock.advance(HOUR)
    const outcome = await charge(gateway)
    assert.ok(outcome.kind === 'unknown' && outcome.reason === 'not_sent', inspect(outcome))
  })
})

describe('a ration of access tokens', () => {
  it('is not exceeded by failed requests, restarts and several processes, and says until when it is used up', async (t) => {
    const { provider, startProcess, passTime } = await startTest(t)
    provider.server.injectFault('http_500', { on: /oauth/ })
    for (const _ of [1, 2, 3, 4]) {
      const outcomes = await Promise.all([1, 2].map(() => charge(startProcess({ ration: RATION }).gateway)))
      for (const outcome of outcomes)
        assert.ok(outcome.kind === 'unknown' && outcome.reason === 'not_sent', inspect(outcome))
      await passTime(2 * 60_000)
    }
    assert.equal(provider.grants(), 2)
    const { gateway, log } = startProcess({ ration: RATION })
    for (const _ of [1, 2])
      assert.match(inspect(await charge(gateway)), /2 tokens in 60 minutes, which are used up until \d{4}-/)
    assert.equal(log.filter(({ key }) => key === 'gateway.token_ration_used').length, 1)
    provider.server.clearFaults()
    await passTime(HOUR)
    assert.equal((await charge(gateway)).kind, 'succeeded')
    assert.equal(provider.grants(), 3)
  })

  it('lets a valid token be used to its very end when it is used up', async (t) => {
    const { provider, startProcess, passTime } = await startTest(t)
    const { gateway } = startProcess({ ration: RATION })
    await charge(gateway)
    await passTime(30 * 60_000)
    // The provider rejects the token: the second grant of the hour.
    provider.rejectTokens()
    assert.equal((await charge(gateway)).kind, 'succeeded')
    provider.setTokenLife(600)
    await passTime(25 * 60_000)
    provider.rejectTokens()
    const rejected = await charge(gateway)
    assert.ok(rejected.kind === 'unknown' && rejected.reason === 'not_sent', inspect(rejected))
    assert.equal(provider.grants(), 2)
    // The first grant leaves the period: a token of ten minutes, and the ration is used up again until minute 90.
    await passTime(6 * 60_000)
    assert.equal((await charge(gateway)).kind, 'succeeded')
    assert.equal(provider.grants(), 3)
    await passTime(590_000)
    assert.equal((await charge(gateway)).kind, 'succeeded')
    await passTime(20_000)
    const expired = await charge(gateway)
    assert.ok(expired.kind === 'unknown' && expired.reason === 'not_sent', inspect(expired))
    assert.equal(provider.grants(), 3)
  })
})

const copySealed = sql<unknown>`
update gateway_tokens
set sealed = (select sealed from gateway_tokens where gateway = $2)
where gateway = $1`

const leaseToken = sql<unknown>`
update gateway_tokens
set leased_until = clock_timestamp() + interval '15 s', version = version + 1
where gateway = $1`
