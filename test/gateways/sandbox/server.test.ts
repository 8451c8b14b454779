import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import { createSandboxGateway } from '../../../src/gateways/sandbox/index.ts'
import { createPostgresStore } from '../../../src/gateways/sandbox/provider/postgres-store.ts'
import { createSandboxProvider } from '../../../src/gateways/sandbox/provider/server.ts'
import { systemClock } from '../../../src/kit/clock.ts'
import type { Db } from '../../../src/kit/db/db.ts'
import { createHttpClient } from '../../../src/kit/http/http-client.ts'
import { createLog } from '../../../src/kit/observability/log.ts'
import { systemRandom } from '../../../src/kit/random.ts'
import { testDatabase } from '../../support/database.ts'
import { CARD, makeAttempt, RETURN_URL, SECRET, WEBHOOK_SECRET } from './rig.ts'

/** A service process that mounts the provider under /sandbox. */
async function mountProvider(t: TestContext, db: Db) {
  const http = createHttpClient()
  const server = createServer((req, res) => provider.handle(req, res))
  const publicUrl = () => {
    const address = server.address()
    return address && typeof address === 'object' ? `http://127.0.0.1:${address.port}` : ''
  }
  const provider = createSandboxProvider({
    store: createPostgresStore(db),
    clock: systemClock,
    random: systemRandom(systemClock),
    log: createLog('silent'),
    http,
    secret: SECRET,
    webhookSecret: WEBHOOK_SECRET,
    get publicUrl() {
      return publicUrl()
    },
    basePath: '/sandbox',
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  provider.start()
  t.after(async () => {
    server.close()
    server.closeAllConnections()
    await provider.stop()
    await http.close()
  })
  const url = `${publicUrl()}/sandbox`
  const gateway = createSandboxGateway({
    http,
    baseUrl: url,
    secret: SECRET,
    webhookSecret: WEBHOOK_SECRET,
    clock: systemClock,
  })
  return { url, gateway, http }
}

describe('the sandbox provider mounted in several processes', () => {
  it('serves its pages below the base path only', async (t) => {
    const { url, gateway, http } = await mountProvider(t, await testDatabase(t))
    const started = await gateway.startCheckout(makeAttempt(), CARD, RETURN_URL)
    assert(started.kind === 'started' && started.next.kind === 'redirect')
    assert(started.next.url.startsWith(`${url}/pay/`))
    const page = await http.request({ method: 'GET', url: started.next.url })
    assert(page.kind === 'answered' && page.status === 200)
    const beside = await http.request({
      method: 'GET',
      url: started.next.url.replace('/sandbox/', '/sandboxed/'),
    })
    assert(beside.kind === 'answered' && beside.status === 404)
  })

  it('F-47 executes once for 50 parallel requests over two of them, and both report it', async (t) => {
    const db = await testDatabase(t)
    const [one, two] = [await mountProvider(t, db), await mountProvider(t, db)]
    const attempt = makeAttempt()
    const token = `tok_${'0'.repeat(32)}.card_success`
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        (index % 2 === 0 ? one : two).gateway.chargeSaved(attempt, token),
      ),
    )
    assert(outcomes.every((outcome) => outcome.kind === 'succeeded'))
    assert.equal((await one.gateway.executions(attempt.paymentId)).length, 1)
    assert.deepEqual(
      await two.gateway.executions(attempt.paymentId),
      await one.gateway.executions(attempt.paymentId),
    )
  })

  it('shows in one process what another has planned', async (t) => {
    const db = await testDatabase(t)
    const [one, two] = [await mountProvider(t, db), await mountProvider(t, db)]
    const attempt = makeAttempt()
    await one.gateway.startCheckout(attempt, { channel: 'mobile_money' }, RETURN_URL)
    assert.equal((await two.gateway.verify(attempt, null)).kind, 'pending')
    assert.equal((await two.gateway.simulatePayer(attempt.key)).kind, 'succeeded')
    assert.equal((await one.gateway.verify(attempt, null)).kind, 'succeeded')
  })
})
