import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { createSandboxGateway } from '../../../src/gateways/sandbox/index.ts'
import { openJournalStore } from '../../../src/gateways/sandbox/provider/journal-store.ts'
import { createPostgresStore } from '../../../src/gateways/sandbox/provider/postgres-store.ts'
import {
  applyCancellation,
  draftCharge,
  draftCheckout,
  type SandboxRecord,
} from '../../../src/gateways/sandbox/provider/record.ts'
import type { SandboxStore } from '../../../src/gateways/sandbox/provider/store.ts'
import { toChargeBody, toCheckoutBody } from '../../../src/gateways/sandbox/wire.ts'
import { systemClock } from '../../../src/kit/clock.ts'
import { createHttpClient } from '../../../src/kit/http/http-client.ts'
import { systemRandom } from '../../../src/kit/random.ts'
import { testDatabase } from '../../support/database.ts'
import { callApi, makeAttempt, makeTempDir, RETURN_URL, SECRET, startRig, WEBHOOK_SECRET } from './rig.ts'

const random = systemRandom(systemClock)
const draftContext = () => ({ uuid: random.uuid(), pageToken: random.uuid(), now: systemClock.now() })
const TOKEN = `tok_${'0'.repeat(32)}.card_success`

function makeCheckout(attempt = makeAttempt()): SandboxRecord {
  const body = toCheckoutBody(attempt, { channel: 'mobile_money' }, RETURN_URL)
  return draftCheckout(attempt.key, body, draftContext())
}

const makeCharge = (attempt = makeAttempt()) =>
  draftCharge(attempt.key, toChargeBody(attempt, TOKEN), draftContext())

const nextOf = (record: SandboxRecord) => ({
  ...applyCancellation(record, systemClock.now()),
  version: record.version + 1,
})

async function tempDirOf(t: TestContext): Promise<string> {
  const cleanups: (() => Promise<void>)[] = []
  const folder = await makeTempDir(cleanups)
  t.after(async () => {
    for (const cleanup of cleanups) await cleanup()
  })
  return folder
}

/** Two stores over the same data, as in two processes; a journal supports one process only. */
const STORES: Record<string, (t: TestContext) => Promise<[SandboxStore, SandboxStore]>> = {
  journal: async (t) => {
    const store = await openJournalStore(path.join(await tempDirOf(t), 'journal.jsonl'))
    t.after(() => store.close())
    return [store, store]
  },
  postgres: async (t) => {
    const db = await testDatabase(t)
    return [createPostgresStore(db), createPostgresStore(db)]
  },
}

for (const [name, open] of Object.entries(STORES)) {
  describe(`the ${name} store`, () => {
    it('F-47 creates one record of 50 parallel drafts with one key', async (t) => {
      const stores = await open(t)
      const attempt = makeAttempt()
      const drafts = Array.from({ length: 50 }, () => makeCharge(attempt))
      const results = await Promise.all(
        drafts.map((draft, index) => stores[index % 2 === 0 ? 0 : 1].insert(draft)),
      )
      assert.equal(results.filter((result) => result.created).length, 1)
      assert.equal(new Set(results.map((result) => result.record.uuid)).size, 1)
      assert.equal((await stores[0].findByOrder(attempt.paymentId)).length, 1)
    })

    it('finds by key, page and order exactly the stored records', async (t) => {
      const [store] = await open(t)
      const attempt = makeAttempt()
      const checkout = makeCheckout(attempt)
      const charge = makeCharge({ ...attempt, key: 'another' })
      await Promise.all([store.insert(checkout), store.insert(charge)])
      assert.deepEqual(await store.findByKey(checkout.key), checkout)
      assert.deepEqual(await store.findByPage(checkout.checkout?.pageToken ?? ''), checkout)
      const found = await store.findByOrder(attempt.paymentId)
      assert.deepEqual(found.map((record) => record.key).sort(), [attempt.key, 'another'].sort())
      assert.equal(await store.findByKey('missing'), undefined)
      assert.equal(await store.findByPage('missing'), undefined)
      assert.deepEqual(await store.findByOrder('missing'), [])
    })

    it('lets one of several writers replace a version', async (t) => {
      const stores = await open(t)
      const checkout = makeCheckout()
      await stores[0].insert(checkout)
      const wins = await Promise.all(
        Array.from({ length: 10 }, (_, index) => stores[index % 2 === 0 ? 0 : 1].replace(nextOf(checkout))),
      )
      assert.equal(wins.filter(Boolean).length, 1)
      assert.deepEqual((await stores[1].findByKey(checkout.key))?.status, 'declined')
    })

    it('finds the planned records of one account until they have ended', async (t) => {
      const [store] = await open(t)
      const { merchantId } = makeAttempt()
      const checkout = makeCheckout(makeAttempt({ merchantId }))
      for (const record of [checkout, makeCharge(makeAttempt({ merchantId })), makeCheckout()])
        await store.insert(record)
      assert.deepEqual(await store.findPlanned(merchantId), [checkout])
      await store.replace(nextOf(checkout))
      assert.deepEqual(await store.findPlanned(merchantId), [])
    })

    it('finds due records until they have ended', async (t) => {
      const [store] = await open(t)
      const checkout = makeCheckout()
      await store.insert(checkout)
      const at = new Date(checkout.plan?.at ?? 0)
      assert.deepEqual(await store.findDue(new Date(at.getTime() - 1), 10), [])
      assert.deepEqual(await store.findDue(at, 10), [checkout])
      await store.replace(nextOf(checkout))
      assert.deepEqual(await store.findDue(at, 10), [])
    })
  })
}

describe('the store in PostgreSQL', () => {
  it('reads due records only when one of its own may be due, and every few seconds for those of others', async (t) => {
    const db = await testDatabase(t)
    let reads = 0
    const query: typeof db.query = (statement, values) => {
      reads += 1
      return db.query(statement, values)
    }
    const [own, other] = [createPostgresStore({ ...db, query }), createPostgresStore(db)]
    const startedMs = systemClock.now().getTime()
    const at = (ms: number) => new Date(startedMs + ms)
    const plannedAt = (ms: number): SandboxRecord => {
      const checkout = makeCheckout()
      return { ...checkout, plan: checkout.plan && { ...checkout.plan, at: at(ms).toISOString() } }
    }
    const foundAt = async (ms: number) => (await own.findDue(at(ms), 10)).length
    assert.deepEqual([await foundAt(0), await foundAt(1_000), reads], [0, 0, 1])
    await other.insert(plannedAt(2_000))
    assert.deepEqual([await foundAt(4_999), await foundAt(5_000), reads], [0, 1, 2])
    await own.insert(plannedAt(7_000))
    reads = 0
    // The record of the other store is still due, so each read is followed by another.
    assert.deepEqual([await foundAt(6_000), await foundAt(7_000), reads], [1, 2, 2])
  })

  it('reads due records again if the clock was set back', async (t) => {
    const db = await testDatabase(t)
    const [store, other] = [createPostgresStore(db), createPostgresStore(db)]
    const checkout = makeCheckout()
    const dueAt = new Date(checkout.plan?.at ?? 0)
    assert.deepEqual(await store.findDue(new Date(dueAt.getTime() + 3_600_000), 10), [])
    await other.insert(checkout)
    assert.deepEqual(await store.findDue(dueAt, 10), [checkout])
  })
})

describe('the journal of the sandbox', () => {
  it('is read after a restart, with the last version of each record', async (t) => {
    const file = path.join(await tempDirOf(t), 'journal.jsonl')
    const checkout = makeCheckout()
    const charge = makeCharge()
    const before = await openJournalStore(file)
    await Promise.all([before.insert(checkout), before.insert(charge)])
    await before.replace(nextOf(checkout))
    await before.close()
    const store = await openJournalStore(file)
    t.after(() => store.close())
    assert.deepEqual(await store.findByKey(charge.key), charge)
    assert.equal((await store.findByKey(checkout.key))?.version, 2)
    assert.deepEqual(await store.insert(makeCharge({ ...makeAttempt(), key: charge.key })), {
      record: charge,
      created: false,
    })
  })

  it('is read if an older version wrote it, with the name of a network instead of its code', async (t) => {
    const dataDir = await tempDirOf(t)
    const record = makeCheckout()
    const older = { ...record.checkout, phone: '+254700000000', network: 'Sandbox Mobile' }
    await writeFile(
      path.join(dataDir, 'sandbox.jsonl'),
      `${JSON.stringify({ ...record, checkout: older })}\n`,
    )
    const cleanups: (() => Promise<void>)[] = []
    const rig = await startRig(cleanups, { dataDir })
    t.after(() => rig.close())
    const answer = await callApi(rig, 'GET', `/payments/${record.key}`)
    assert(answer.kind === 'answered')
    const { next } = JSON.parse(answer.body.toString())
    assert.deepEqual([next.kind, next.phone, next.network], ['prompt', '+254700000000', 'Sandbox Mobile'])
  })

  it('cuts off a torn last line, and appends after it', async (t) => {
    const file = path.join(await tempDirOf(t), 'journal.jsonl')
    const kept = makeCharge()
    const torn = makeCharge()
    await writeFile(file, `${JSON.stringify(kept)}\n`)
    await appendFile(file, JSON.stringify(torn).slice(0, -7))
    const store = await openJournalStore(file)
    assert.deepEqual(await store.findByKey(kept.key), kept)
    assert.equal(await store.findByKey(torn.key), undefined)
    assert.equal((await store.insert(torn)).created, true)
    await store.close()
    const lines = (await readFile(file, 'utf8')).split('\n')
    assert.deepEqual(
      lines.slice(0, -1).map((line) => JSON.parse(line)),
      [kept, torn],
    )
  })

  it('rejects a file that is corrupt in the middle', async (t) => {
    const file = path.join(await tempDirOf(t), 'journal.jsonl')
    await writeFile(file, `{"key":\n${JSON.stringify(makeCharge())}\n`)
    await assert.rejects(openJournalStore(file))
  })
})

const CHILD = `
  const { serveSandbox } = await import('${new URL('../../../src/gateways/sandbox/provider/serve.ts', import.meta.url)}')
  const { systemClock } = await import('${new URL('../../../src/kit/clock.ts', import.meta.url)}')
  const { systemRandom } = await import('${new URL('../../../src/kit/random.ts', import.meta.url)}')
  const { createLog } = await import('${new URL('../../../src/kit/observability/log.ts', import.meta.url)}')
  const options = JSON.parse(process.argv[1])
  const { url } = await serveSandbox({
    ...options, host: '127.0.0.1', port: 0, clock: systemClock, random: systemRandom(systemClock), log: createLog('error'),
  })
  process.stdout.write(url)`

describe('F-10 the provider killed under load', () => {
  it('has every charge that it acknowledged, each once', async (t) => {
    const dataDir = await tempDirOf(t)
    const options = { dataDir, secret: SECRET, webhookSecret: WEBHOOK_SECRET }
    const child = spawn(process.execPath, ['--input-type=module', '-e', CHILD, JSON.stringify(options)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    t.after(() => child.kill('SIGKILL'))
    const [url] = await once(child.stdout, 'data')
    const http = createHttpClient()
    const gateway = createSandboxGateway({ ...options, http, baseUrl: String(url), clock: systemClock })
    const attempts: { key: string; paymentId: string; answered: boolean }[] = []
    const load = async () => {
      while (child.exitCode === null && child.signalCode === null) {
        const attempt = makeAttempt()
        const entry = { key: attempt.key, paymentId: attempt.paymentId, answered: false }
        attempts.push(entry)
        entry.answered = (await gateway.chargeSaved(attempt, TOKEN)).kind === 'succeeded'
      }
    }
    const clients = Array.from({ length: 16 }, load)
    // Enough responses that some are in progress at any moment, even on a slow machine.
    while (attempts.filter((entry) => entry.answered).length < 100) await delay(20)
    child.kill('SIGKILL')
    await Promise.all(clients)
    await http.close()

    const cleanups: (() => Promise<void>)[] = []
    t.after(async () => {
      for (const cleanup of cleanups) await cleanup()
    })
    const rig = await startRig(cleanups, { dataDir })
    for (const entry of attempts) {
      const count = (await rig.gateway.executions(entry.paymentId)).length
      if (entry.answered) assert.equal(count, 1)
      else assert(count <= 1)
    }
  })
})
