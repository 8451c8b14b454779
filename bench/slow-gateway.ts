// npm run bench:slow: measures whether slow responses of one gateway delay charges at another. The same load runs with
// the other gateway at normal speed and slow, in turn.

import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { chargeBody } from '../test/support/builders.ts'
import { parseOptions } from '../test/support/command-line.ts'
import { fileContext } from '../test/support/gateways.ts'
import { newMerchantAt, PROVIDERS, saveCard, VAULT_ENV } from '../test/support/providers.ts'
import { type TestService, testService } from '../test/support/service.ts'

// The response times of a healthy and of a slow provider.
const USUAL_MS = 100
const SLOW_MS = 30_000
// Longer than the slow response, so that it is slow and not lost: then only the bulkhead limits its effect.
const TIMEOUT_MS = 60_000
const CHARGES_PER_SECOND = 20
const LIMIT = 1.2
// Open charges of a round complete before the next one starts.
const PAUSE_MS = 3_000

const HELP = `npm run bench:slow [-- --quick] [-- --json]

Charges saved cards through two gateways, ${CHARGES_PER_SECOND} per second at each. In every second round one of them takes
${SLOW_MS / 1_000} s to respond. Prints the latency of charges at the other in both kinds of rounds, as medians
over the rounds.
Exits with 1 if its 99th percentile is more than ${LIMIT} times as long beside the slow one.

  --quick  3 pairs of rounds of 6 s instead of 5 of 15 s
  --json   one JSON document instead of the table
  --help   this text
`

const options = parseOptions(HELP, { json: { type: 'boolean' }, quick: { type: 'boolean' } })
const PAIRS = options.quick ? 3 : 5
const ROUND_MS = options.quick ? 6_000 : 15_000

type Name = 'stripe' | 'paystack'
const STEADY = 'paystack' satisfies Name
const OTHER = 'stripe' satisfies Name

const cleanups: (() => unknown)[] = []
try {
  report(await measure({ after: (end: () => unknown) => void cleanups.push(end) }))
} finally {
  // In the order of registration, as test hooks run.
  for (const end of cleanups) await end()
}

interface Cleanup {
  after(end: () => unknown): void
}

interface Round {
  isSlow: boolean
  /** The latencies of charges at the steady gateway. */
  tookMs: number[]
  /** The statuses of charges at the other one. */
  others: Record<string, number>
}

async function measure(cleanup: Cleanup): Promise<Round[]> {
  // A boundary: fakes and services take a test context, of which they only use this hook.
  const t = fileContext(cleanup as unknown as Parameters<typeof fileContext>[0])
  const steady = await PROVIDERS[STEADY].start(t)
  const other = await PROVIDERS[OTHER].start(t)
  const steadyProxy = await openDelayProxy(cleanup, steady.server.url)
  const otherProxy = await openDelayProxy(cleanup, other.server.url)
  const service = await testService(cleanup, {
    env: {
      ...VAULT_ENV,
      GATEWAY_STRIPE_BASE_URL: otherProxy.url,
      GATEWAY_PAYSTACK_BASE_URL: steadyProxy.url,
      COWRY_GATEWAY_TIMEOUT_MS: String(TIMEOUT_MS),
      COWRY_RATE_LIMIT: '0',
    },
  })

  const runRound = async (isSlow: boolean): Promise<Round> => {
    // New accounts, so that no round inherits the circuit breaker state of another.
    const charge = await charger(service, STEADY, await credentialOf(steady))
    const chargeOther = await charger(service, OTHER, await credentialOf(other))
    if (isSlow) otherProxy.delayResponses()
    const others: Record<string, number> = {}
    const count = (status: string) => {
      others[status] = (others[status] ?? 0) + 1
    }
    const tookMs: number[] = []
    const steadyCharges: Promise<unknown>[] = []
    const otherCharges: Promise<unknown>[] = []
    const startedAt = performance.now()
    for (let number = 0; number < (ROUND_MS / 1_000) * CHARGES_PER_SECOND; number += 1) {
      // At fixed times, not after responses: a closed loop would not measure the slow ones.
      await delay(Math.max(0, startedAt + (number * 1_000) / CHARGES_PER_SECOND - performance.now()))
      steadyCharges.push(timed(charge).then((took) => tookMs.push(took)))
      otherCharges.push(chargeOther().then(count))
    }
    await Promise.all(steadyCharges)
    // Only now: held requests arrive at once, which must not affect a measured charge.
    otherProxy.recover()
    await Promise.all(otherCharges)
    await delay(PAUSE_MS)
    return { isSlow, tookMs, others }
  }

  // One-time compilation and connections are not part of the figures.
  await runRound(false)
  const rounds: Round[] = []
  // Each kind goes first in turn, so that changing load on the machine favours none.
  for (let pair = 0; pair < PAIRS; pair += 1) {
    const isSlowFirst = pair % 2 === 1
    rounds.push(await runRound(isSlowFirst), await runRound(!isSlowFirst))
  }
  return rounds
}

async function credentialOf(fake: Awaited<ReturnType<(typeof PROVIDERS)[Name]['start']>>): Promise<string> {
  const credential = await fake.savedCredential?.('approves')
  if (!credential) throw new Error('this provider saves no cards')
  return credential
}

/** Charges a saved card of a new merchant, and returns its status. */
async function charger(service: TestService, name: Name, credential: string): Promise<() => Promise<string>> {
  const merchant = await newMerchantAt(service, name)
  const token = await saveCard(service.db, name, merchant, credential)
  const { amount, currency } = PROVIDERS[name].paymentTerms
  return async () => {
    const answer = await merchant.api.post(
      '/api/v1/charges/recurring',
      chargeBody(token, { amount, currency }),
    )
    if (answer.http !== 201) throw new Error(`a charge was refused: ${answer.text}`)
    return String(answer.body.data.status)
  }
}

async function timed(charge: () => Promise<string>): Promise<number> {
  const startedAt = performance.now()
  const status = await charge()
  if (status !== 'successful') throw new Error(`a charge at the steady gateway is ${status}`)
  return performance.now() - startedAt
}

/** A proxy to a provider that delays each request. */
async function openDelayProxy(cleanup: Cleanup, target: string) {
  let held: AbortController | undefined
  const server = createServer(async (incoming, answer) => {
    if (held) await delay(SLOW_MS, undefined, { signal: held.signal }).catch(() => 'released')
    else await delay(USUAL_MS)
    forward(target, incoming, answer)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanup.after(() => server.close())
  // A boundary: a server that listens on a port has an address with a port.
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    delayResponses() {
      held = new AbortController()
    },
    recover() {
      held?.abort()
      held = undefined
    },
  }
}

function forward(target: string, incoming: IncomingMessage, answer: ServerResponse): void {
  const { method, headers } = incoming
  const onward = request(`${target}${incoming.url}`, { method, headers }, (received) => {
    answer.writeHead(received.statusCode ?? 502, received.headers)
    received.pipe(answer)
  })
  // The caller sees a broken connection, as it would without the proxy.
  onward.on('error', () => answer.destroy())
  incoming.pipe(onward)
}

interface Figures {
  charges: number
  p50: number
  p99: number
  others: Record<string, number>
}

function percentile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((one, other) => one - other)
  return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN
}

/** Medians over the rounds, so that other load in one of them does not count. */
function figuresOf(rounds: readonly Round[]): Figures {
  const at = (share: number) =>
    Math.round(
      percentile(
        rounds.map(({ tookMs }) => percentile(tookMs, share)),
        0.5,
      ),
    )
  const charges = rounds.reduce((sum, { tookMs }) => sum + tookMs.length, 0)
  const others: Record<string, number> = {}
  for (const [status, count] of rounds.flatMap((round) => Object.entries(round.others)))
    others[status] = (others[status] ?? 0) + count
  return { charges, p50: at(0.5), p99: at(0.99), others }
}

function report(rounds: Round[]): void {
  const usual = figuresOf(rounds.filter(({ isSlow }) => !isSlow))
  const slow = figuresOf(rounds.filter(({ isSlow }) => isSlow))
  const ratio = Math.round((slow.p99 / usual.p99) * 100) / 100
  // NaN must count as a miss, so the comparison is negated.
  const exceedsLimit = !(ratio <= LIMIT)
  const line = (label: string, { charges, p50, p99, others }: Figures) =>
    `${label.padEnd(22)}${String(charges).padStart(6)} charges   p50 ${p50} ms   p99 ${p99} ms   the other: ${JSON.stringify(others)}\n`
  const table = [
    line('both as usual', usual),
    line(`the other takes ${SLOW_MS / 1_000} s`, slow),
    `p99 ${ratio} times as long   limit ${LIMIT}${exceedsLimit ? '   BROKEN' : ''}\n`,
  ].join('')
  const document = { rounds: PAIRS, roundMs: ROUND_MS, usual, slow, ratio, limit: LIMIT, ok: !exceedsLimit }
  process.stdout.write(options.json ? `${JSON.stringify(document, null, 2)}\n` : table)
  if (exceedsLimit) process.exitCode = 1
}
