// Abuse of connections, API keys and checkout codes. Other callers must not be affected.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { after, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { formatApiKey } from '../../src/api-keys/key-format.ts'

import { startTarget } from '../fuzz/target.ts'
import { createApi } from '../support/api.ts'
import { createPayer, openCheckout } from '../support/payer.ts'
import { eventually } from '../support/process.ts'
import { HAS_LARGER_FORM, LARGER_FORM_ONLY, sized } from '../support/scale.ts'

const target = await startTarget({ after })
const { api, url, key } = target
const BALANCE = '/api/v1/wallet/balance'
// The response time of a service that is not blocked, even on a busy test machine.
const TIMEOUT_MS = 5_000

describe('webhook bodies without a signature (F-85)', () => {
  const SENDERS = sized({ quick: 300, rest: 1_500, long: 1_500 })
  const LARGEST_BYTES = 65_536
  const TOO_LARGE_SENDERS = sized({ quick: 30, rest: 150, long: 150 })
  const TOO_LARGE_BYTES = 1_048_576
  // The service holds 8 MB of all bodies together.
  const MOST_HELD = 128
  const MAX_GROWTH_BYTES = 100 * 1_048_576
  // Dropped bodies stay in memory until the process collects its garbage. The responses show that they were dropped; this
  // bound shows that no body is copied.
  const MAX_GARBAGE_BYTES = 2 * 1_500 * LARGEST_BYTES

  interface Sender {
    socket: Socket
    sent: Promise<void>
    /** The status of the response; undefined while there is none. */
    status(): string | undefined
  }

  /** Sends all of a webhook body but its last byte. */
  function sendUnfinished(bytes: number): Sender {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname).on('error', () => undefined)
    const head = `POST /hooks/sandbox HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`
    let received = ''
    socket.on('data', (chunk) => {
      received += chunk
    })
    const sent = new Promise<void>((resolve) => {
      socket.on('close', () => resolve())
      socket.write(head + 'x'.repeat(bytes - 1), () => resolve())
    })
    return { socket, sent, status: () => /^HTTP\/1\.1 (\d+)/.exec(received)?.[1] }
  }

  /** The growth of the memory with these unfinished bodies, after so many of them have ended, most with this response. */
  async function growthWith(
    bytes: number,
    count: number,
    expected: { status: string; atLeast: number },
  ): Promise<number> {
    const before = memoryOf(target.pid)
    const senders = Array.from({ length: count }, () => sendUnfinished(bytes))
    try {
      await Promise.all(senders.map(({ sent }) => sent))
      const isAnswered = ({ status }: Sender) => status() === expected.status
      // On a busy machine some connections end without it: their body took too long, or a reset lost the response.
      const countEnded = async () =>
        senders.filter((sender) => isAnswered(sender) || sender.socket.closed).length
      await eventually(countEnded, (ended) => ended >= expected.atLeast, 20_000)
      assert.ok(senders.filter(isAnswered).length > 0.75 * expected.atLeast)
      const forged = await createApi(url, {}).post('/hooks/sandbox', { event: 'x' })
      assert.equal(forged.http, 401, forged.text)
      assert.equal((await api.get(BALANCE)).http, 200)
      return memoryOf(target.pid) - before
    } finally {
      for (const { socket } of senders) socket.destroy()
    }
  }

  it(
    'unfinished webhooks above the common limit are dropped, and a complete one is still answered',
    HAS_LARGER_FORM,
    async () => {
      const growth = await growthWith(LARGEST_BYTES, SENDERS, { status: '503', atLeast: SENDERS - MOST_HELD })
      assert.ok(growth < MAX_GARBAGE_BYTES, `${growth} bytes`)
    },
  )

  it('a webhook above the limit is refused before its body has arrived', HAS_LARGER_FORM, async () => {
    const growth = await growthWith(TOO_LARGE_BYTES, TOO_LARGE_SENDERS, {
      status: '413',
      atLeast: TOO_LARGE_SENDERS,
    })
    assert.ok(growth < MAX_GROWTH_BYTES, `${growth} bytes`)
  })
})

/** The resident memory of a process, in bytes. */
function memoryOf(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) * 1024
}

describe('slow clients (F-85)', () => {
  const CALLERS = sized({ quick: 100, rest: 400, long: 400 })
  // The server closes a connection whose headers are incomplete after ten seconds, and checks every five seconds.
  const LIMIT_MS = 20_000

  /**
   * Starts a request and never completes it. Resolves with the response that the server sends when it closes the
   * connection.
   */
  function openSlowConnection(): { socket: Socket; ended: Promise<string> } {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    let received = ''
    socket.on('data', (chunk) => {
      received += chunk
    })
    socket.on('error', () => undefined)
    socket.write(`GET ${BALANCE} HTTP/1.1\r\nHost: x\r\n`)
    return { socket, ended: new Promise((resolve) => socket.on('close', () => resolve(received))) }
  }

  it('slow clients do not delay other requests, and are disconnected', HAS_LARGER_FORM, async () => {
    const callers = Array.from({ length: CALLERS }, openSlowConnection)
    const dripTimer = setInterval(() => {
      for (const { socket } of callers) if (socket.writable) socket.write('x')
    }, 1_000)
    try {
      for (let asked = 0; asked < 20; asked += 1) {
        const startedAt = performance.now()
        assert.equal((await api.get(BALANCE)).http, 200)
        assert.ok(performance.now() - startedAt < TIMEOUT_MS)
      }
      const late = delay(LIMIT_MS, [] as string[], { ref: false })
      const answers = await Promise.race([Promise.all(callers.map(({ ended }) => ended)), late])
      assert.equal(answers.length, CALLERS, 'every slow client was disconnected in time')
      for (const answer of answers) assert.match(answer, /^(?:HTTP\/1\.1 408 |$)/)
    } finally {
      clearInterval(dripTimer)
      for (const { socket } of callers) socket.destroy()
    }
  })
})

describe('a thousand guesses at a key (F-77)', () => {
  // test/api/limits-guesses.test.ts guesses until the limit.
  it(
    'a thousand guesses are rate limited, never succeed, and never lock out the owner of the key',
    LARGER_FORM_ONLY,
    async () => {
      const id = key.split('_')[2] ?? ''
      const guess = async (number: number) => {
        const secret = String(number).padStart(43, '0')
        const guessed = createApi(url, { 'x-api-key': formatApiKey({ mode: 'test', id, secret }) })
        return (await guessed.get(BALANCE)).body.error.code
      }
      const counts: Record<string, number> = {}
      for (let round = 0; round < 20; round += 1) {
        const codes = await Promise.all(Array.from({ length: 50 }, (_, number) => guess(round * 50 + number)))
        for (const code of codes) counts[code] = (counts[code] ?? 0) + 1
        assert.equal((await api.get(BALANCE)).http, 200, 'the valid key works during the guesses')
      }
      assert.deepEqual(Object.keys(counts).sort(), ['invalid_api_key', 'rate_limited'])
      assert.ok((counts.rate_limited ?? 0) > 900, JSON.stringify(counts))
    },
  )
})

describe('the code of a checkout (F-84)', () => {
  it('a checkout code does nothing after the payment, and pays no other payment', async () => {
    const payer = createPayer()
    const paid = await openCheckout(api, payer)
    const open = await openCheckout(api, payer)
    await api.post(`/api/v1/sandbox/payments/${paid.reference}/complete`, { instrument: 'card_success' })
    const before = await paid.read()
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const anonymous = createApi(url, {})
    const page = new URL(paid.checkoutUrl).pathname
    for (const step of ['attempts', 'network', 'check', 'sent', 'extend', 'other', 'cancel']) {
      for (const text of [
        'channel=card',
        `channel=card&payment=${open.uuid}&reference=${open.reference}`,
        '',
      ]) {
        const { http } = await anonymous.postText(`${page}/${step}`, text, form)
        assert.ok(http < 500, step)
      }
    }
    assert.deepEqual(await paid.read(), before)
    assert.equal((await open.read()).status, 'pending')
    const executions = await api.get(`/api/v1/sandbox/executions?reference=${paid.reference}`)
    assert.equal(executions.body.data.length, 1)
  })
})
