// npm run bench:request-log: what the request log costs, as a share of a charge. Two services in turns, with and without the
// log, differ by more than that from round to round, so its statement is measured by itself.

import { randomUUID } from 'node:crypto'
import { connectDb, type Db, sql } from '../src/kit/db/db.ts'
import { insertRequests } from '../src/request-log/queries.ts'
import { parseOptions, parsePositiveInteger } from '../test/support/command-line.ts'
import { exactCpuOf } from './cpu.ts'
import { measureLoad } from './measure.ts'
import { type Rig, withRig } from './rig.ts'
import { median, rounded } from './statistics.ts'

const CONNECTIONS = 24
const CHARGE_SECONDS = 4
const BATCHES = 10
const LIMIT = 0.02

const HELP = `npm run bench:request-log [-- --rounds N]

Makes recurring charges of 1,000 merchants without the request log (COWRY_REQUEST_LOG_DAYS=0) for ${CHARGE_SECONDS} s, then writes as many
requests of these merchants as a second had charges, ${BATCHES} times, as the service does once a second. N times (5). Prints the
medians of the processor time of service and database, per charge and per request that is logged. Exits with 1 if the log
costs more than ${LIMIT * 100} % of a charge.

  --rounds N  how many
  --help      this text
`

const selectMerchants = sql<{ id: string }>`select id from merchants order by id limit 1000`
const selectBackend = sql<{ pid: number }>`select pg_backend_pid() as pid`

interface Round {
  chargeMicros: number
  loggedMicros: number
}

const options = parseOptions(HELP, { rounds: { type: 'string', default: '5' } })
const log = (line: string) => void process.stderr.write(`${line}\n`)
const env = { COWRY_REQUEST_LOG_DAYS: '0' }
const rounds = await withRig({ log, env }, (rig) =>
  measure(rig, parsePositiveInteger('rounds', options.rounds)),
)
const medianOf = (of: (round: Round) => number) => rounded(median(rounds.map(of)))
const share = medianOf(({ chargeMicros, loggedMicros }) => loggedMicros / chargeMicros)
process.stdout.write(
  `A charge takes ${medianOf(({ chargeMicros }) => chargeMicros)} µs, a request in the log ` +
    `${medianOf(({ loggedMicros }) => loggedMicros)} µs: ${rounded(share * 100)} % of it.\n`,
)
if (!(share <= LIMIT)) process.exitCode = 1

async function measure(rig: Rig, count: number): Promise<Round[]> {
  const db = connectDb({ url: rig.databaseUrl, poolSize: 1, applicationName: 'bench' })
  try {
    await rig.analyze()
    await measureLoad(rig, 'charges', CONNECTIONS, CHARGE_SECONDS)
    await rig.analyze()
    const done: Round[] = []
    for (let round = 0; round < count; round += 1) {
      const { cpu, perSecond } = await measureLoad(rig, 'charges', CONNECTIONS, CHARGE_SECONDS)
      const loggedMicros = await measureLog(db, Math.ceil(perSecond))
      done.push({ chargeMicros: cpu.service + cpu.database, loggedMicros })
      log(`round ${round + 1} of ${count}: ${rounded(loggedMicros)} µs`)
    }
    return done
  } finally {
    await db.close()
  }
}

/** Microseconds per request, of the database and of this process. */
async function measureLog(db: Db, perBatch: number): Promise<number> {
  const [{ pid } = { pid: 0 }] = await db.query(selectBackend)
  const merchants = await db.query(selectMerchants)
  const batches = Array.from({ length: BATCHES }, () =>
    Array.from({ length: perBatch }, (_, n) => requestOf(merchants[n % merchants.length]?.id ?? '')),
  )
  const [before, own] = [exactCpuOf(pid), process.cpuUsage()]
  for (const batch of batches) await insertRequests(db, batch)
  const { user, system } = process.cpuUsage(own)
  return (exactCpuOf(pid) - before + user + system) / (BATCHES * perBatch)
}

function requestOf(merchantId: string) {
  return {
    ...{ id: randomUUID(), merchantId, keyId: 'kL1mN2oP3qR4', requestId: randomUUID(), method: 'POST' },
    ...{ route: '/api/v1/charges', http: 200, errorCode: null, errorFields: null, reference: randomUUID() },
    ...{ durationMs: 12, createdAt: new Date() },
  }
}
