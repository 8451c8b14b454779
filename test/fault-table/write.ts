// npm run faults: writes docs/faults.md.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT, readTree } from '../tidy/tree.ts'
import { findGaps, findNamedTests, renderFaults } from './render.ts'

const tests = findNamedTests(readTree())
writeFileSync(join(ROOT, 'docs', 'faults.md'), renderFaults(tests))
for (const gap of findGaps(tests)) console.error(gap)
