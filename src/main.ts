// The entry point: runs the command that the arguments name.

import { runCommandLine } from './cli/program.ts'
import { ENTRY_POINTS } from './entry-points.ts'

process.exitCode = await runCommandLine(process.argv.slice(2), { entryPoints: ENTRY_POINTS })
