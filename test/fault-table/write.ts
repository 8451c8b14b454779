// npm run faults: generates docs/faults.md.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseOptions } from '../support/command-line.ts'
import { ROOT, readTree } from '../tidy/tree.ts'
import { findGaps, findNamedTests, renderFaults } from './render.ts'

const HELP = `npm run faults

Generates docs/faults.md: the faults, the expected behaviour, and the tests that prove it.
`

parseOptions(HELP, {})
const tests = findNamedTests(readTree())
writeFileSync(join(ROOT, 'docs', 'faults.md'), renderFaults(tests))
for (const gap of findGaps(tests)) console.error(gap)
