// npm run bench:request-log: what the request log costs a charge. Two services on one database, one of them without the log,
// take the same load in turns.

import { parseOptions, parsePositiveInteger } from '../test/support/command-line.ts'
import { measureLoad, type Round } from './measure.ts'
import { type Rig, withRig } from './rig.ts'
import { median, rounded } from './statistics.ts'

const SECONDS = 4
const CONNECTIONS = 24
const LIMIT = 1.02

const HELP = `npm run bench:request-log [-- --rounds N]

Makes recurring charges of 1,000 merchants for ${SECONDS} s with the request log and ${SECONDS} s without (COWRY_REQUEST_LOG_DAYS=0), N times
(10), each first in turn. Prints the medians of charges per second and of the processor time of service and database per
charge, and of their ratios in each pair. Exits with 1 if the log costs more than ${rounded((LIMIT - 1) * 100)} % of the processor time.

  --rounds N  how many pairs
  --help      this text
`

const options = parseOptions(HELP, { rounds: { type: 'string', default: '10' } })
const log = (line: string) => void process.stderr.write(`${line}\n`)

const cpuOf = ({ cpu: { service, database } }: Round) => service + database

const pairs = await withRig({ log }, (rig) => measure(rig, parsePositiveInteger('rounds', options.rounds)))
const medianOf = (of: (pair: Pair) => number) => rounded(median(pairs.map(of)))
const cost = medianOf(({ on, off }) => cpuOf(on) / cpuOf(off))
process.stdout.write(
  `With the request log ${medianOf(({ on }) => on.perSecond)} charges/s and ${medianOf(({ on }) => cpuOf(on))} µs each, ` +
    `without ${medianOf(({ off }) => off.perSecond)} and ${medianOf(({ off }) => cpuOf(off))} µs. ` +
    `Ratio of the processor time ${cost}, of the rate ${medianOf(({ on, off }) => on.perSecond / off.perSecond)}.\n`,
)
if (!(cost <= LIMIT)) process.exitCode = 1

interface Pair {
  on: Round
  off: Round
}

async function measure(rig: Rig, rounds: number): Promise<Pair[]> {
  const services = { on: rig.service, off: await rig.startService({ COWRY_REQUEST_LOG_DAYS: '0' }) }
  const load = (name: keyof Pair, seconds: number) =>
    measureLoad(
      { ...rig, service: services[name], cpu: () => rig.cpuWith(services[name]) },
      'charges',
      CONNECTIONS,
      seconds,
    )
  await rig.analyze()
  for (const name of ['on', 'off'] as const) await load(name, SECONDS)
  await rig.analyze()
  const done: Pair[] = []
  for (let round = 0; round < rounds; round += 1) {
    const measured: Partial<Pair> = {}
    for (const name of round % 2 === 0 ? (['on', 'off'] as const) : (['off', 'on'] as const))
      measured[name] = await load(name, SECONDS)
    const { on, off } = measured
    if (!on || !off) throw new Error('a round has two measurements')
    done.push({ on, off })
    log(`round ${round + 1} of ${rounds}: ${rounded(cpuOf(on) / cpuOf(off))}`)
  }
  return done
}
