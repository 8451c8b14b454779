// npm run bench:memory: measures whether the memory of the service grows with the number of charges.

import { setTimeout as delay } from 'node:timers/promises'
import { parseOptions, parsePositiveInteger } from '../test/support/command-line.ts'
import { memoryOf } from './processes.ts'
import { withRig } from './rig.ts'
import { slopeOf } from './statistics.ts'

const HELP = `npm run bench:memory [-- --charges N] [-- --json]

Lets the service make 200,000 charges and prints its memory during the run, and the slope of the straight line through
the second half in bytes per charge, which shows a leak.

  --charges N  number of charges
  --json       one JSON document instead of the lines
  --help       this text
`
const CONNECTIONS = 32
const POLL_EVERY_MS = 1_000
const MEGABYTE = 1_000_000
// Garbage collection noise is some tens of bytes; a leaked record per charge would be ten times this.
const LIMIT_BYTES_PER_CHARGE = 100

const options = parseOptions(HELP, {
  charges: { type: 'string', default: '200000' },
  json: { type: 'boolean', default: false },
})
await run(parsePositiveInteger('charges', options.charges))

async function run(charges: number): Promise<void> {
  const log = (line: string) => void process.stderr.write(`${line}\n`)
  // With --json only the document goes to the standard output.
  const show = (line: string) => void (options.json ? process.stderr : process.stdout).write(`${line}\n`)
  const slices = 20
  const samples = await withRig({ log }, async (rig) => {
    const taken: { x: number; y: number }[] = []
    for (let slice = 1; slice <= slices; slice += 1) {
      const load = { url: rig.service.url, operation: 'charges' as const, connections: CONNECTIONS }
      const { answered, failed, firstFailure } = await rig.drive({
        ...load,
        forMs: Number.MAX_SAFE_INTEGER,
        requests: charges / slices,
      })
      if (failed > 0) throw new Error(`${failed} charges failed: ${firstFailure}`)
      await delay(POLL_EVERY_MS)
      const x = answered * slice
      const y = memoryOf(rig.service.pid)
      taken.push({ x, y })
      show(`${String(x).padStart(8)} charges   ${(y / MEGABYTE).toFixed(1)} MB`)
    }
    return taken
  })
  const slope = slopeOf(samples.slice(slices / 2))
  const exceedsLimit = !(slope <= LIMIT_BYTES_PER_CHARGE)
  const limit = LIMIT_BYTES_PER_CHARGE
  show(`slope ${slope.toFixed(1)} bytes per charge   limit ${limit}${exceedsLimit ? '   BROKEN' : ''}`)
  const samplesTaken = samples.map(({ x: charges, y: bytes }) => ({ charges, bytes }))
  if (options.json)
    process.stdout.write(
      `${JSON.stringify({ bytesPerCharge: slope, limit, samples: samplesTaken }, null, 2)}\n`,
    )
  if (exceedsLimit) process.exitCode = 1
}
