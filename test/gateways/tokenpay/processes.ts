// Processes of the service as far as tokens are concerned: each has its own connections to the database, its own memory and
// its own HTTP client. Run as a program it is a process of its own, which charges when its standard input says so.

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { money } from '../../../src/core/money.ts'
import type { TokenOwner } from '../../../src/gateway-tokens/request.ts'
import { createTokenSources } from '../../../src/gateway-tokens/source.ts'
import { createTokenStore } from '../../../src/gateway-tokens/store.ts'
import type { TokenRation } from '../../../src/gateway-tokens/token.ts'
import type { Attempt, Gateway, Outcome } from '../../../src/gateways/gateway.ts'
import { createTokenCalls } from '../../../src/gateways/token-calls.ts'
import { type Clock, systemClock } from '../../../src/kit/clock.ts'
import { createVault, deriveSecret } from '../../../src/kit/crypto.ts'
import { createHttpClient } from '../../../src/kit/http/http-client.ts'
import type { LogFields } from '../../../src/kit/observability/log.ts'
import { systemRandom } from '../../../src/kit/random.ts'
import { connectTestDb } from '../../support/test-db.ts'
import { callbackUrlAt } from '../webhook-request.ts'
import { openTokenpay } from './connector.ts'
import { CREDENTIALS } from './fake.ts'

// The same in every process, as the settings of an instance are.
const SECRET = 'of the test'
const VAULT_KEY = { id: 'test', key: deriveSecret(SECRET, 'vault') }

// A thousand charges at once share one processor with the provider, the database and whatever else runs.
export const BUSY_TIMEOUT_MS = 60_000

export interface TokenpayProcess {
  gateway: Gateway
  log: { key: string; fields: LogFields | undefined }[]
  /** Waits for the requests in flight. */
  settle(): Promise<void>
  /** Every statement fails from now on. */
  cutDatabase(): Promise<void>
  close(): Promise<void>
}

interface Options {
  databaseUrl: string
  providerUrl: string
  clock?: Clock
  credentials?: Record<string, string>
  ration?: TokenRation
  owner?: Partial<TokenOwner>
}

export function startTokenpayProcess(options: Options): TokenpayProcess {
  const { databaseUrl, providerUrl: baseUrl, clock = systemClock, credentials = CREDENTIALS } = options
  const db = connectTestDb({ url: databaseUrl, poolSize: 4 })
  const http = createHttpClient({ totalTimeoutMs: BUSY_TIMEOUT_MS })
  const log: TokenpayProcess['log'] = []
  const sources = createTokenSources({
    store: createTokenStore(db),
    vault: createVault([VAULT_KEY], systemRandom(clock)),
    clock,
    log: { write: (key, fields) => void log.push({ key, fields }) },
    key: deriveSecret(SECRET, 'tokens'),
  })
  const owner = { gateway: 'tokenpay', baseUrl, accountId: null, timeoutMs: 10_000, ...options.owner }
  const tokens = createTokenCalls(sources.open(owner), { clock, timeoutMs: owner.timeoutMs })
  const publicUrl = () => 'https://pay.example.com'
  const callbackUrl = callbackUrlAt(publicUrl(), 'tokenpay')
  const connection = {
    credentials,
    baseUrl,
    mode: 'test',
    http,
    tokens,
    clock,
    publicUrl,
    callbackUrl,
  } as const
  const settle = () => sources.close()
  let closed: Promise<void> | undefined
  const cutDatabase = () => {
    closed ??= db.close()
    return closed
  }
  return {
    gateway: openTokenpay(options.ration)(connection),
    ...{ log, settle, cutDatabase },
    async close() {
      await settle()
      await http.close()
      await cutDatabase()
    },
  }
}

/** Charges at the same time, and returns how many succeeded. */
export async function chargeMany(gateway: Gateway, count: number): Promise<number> {
  const charges = Array.from({ length: count }, () => charge(gateway))
  const outcomes = await Promise.all(charges)
  return outcomes.filter(({ kind }) => kind === 'succeeded').length
}

export async function charge(gateway: Gateway): Promise<Outcome> {
  if (!gateway.chargeSaved) throw new Error('Tokenpay charges saved methods')
  return gateway.chargeSaved(makeCharge(), 'a-card')
}

function makeCharge(): Attempt {
  const ids = { key: randomUUID(), paymentId: randomUUID(), merchantId: randomUUID() }
  const customer = { email: 'amina@example.com', firstname: 'Amina', lastname: 'Otieno' }
  const texts = { merchantName: 'Duka', reference: 'A-1', country: null, description: null, customer }
  const amount = money(125_050n, 'KES')
  return { ...ids, ...texts, operation: 'charge', amount, startedAt: systemClock.now(), expiresAt: null }
}

/** node processes.ts <database> <provider> <count>: charges once when a line arrives, and prints how many succeeded. */
async function main([databaseUrl = '', providerUrl = '', count = '0']: readonly string[]): Promise<void> {
  const { gateway, close } = startTokenpayProcess({
    ...{ databaseUrl, providerUrl },
    owner: { timeoutMs: BUSY_TIMEOUT_MS },
  })
  process.stdout.write('ready\n')
  await once(process.stdin, 'data')
  process.stdout.write(`${await chargeMany(gateway, Number(count))}\n`)
  process.stdin.destroy()
  await close()
}

if (import.meta.main) await main(process.argv.slice(2))
