// argv → serve, sandbox or an operator's command.

import { runCommandLine } from './cli/program.ts'
import { ENTRY_POINTS } from './entry-points.ts'

process.exitCode = await runCommandLine(process.argv.slice(2), { entryPoints: ENTRY_POINTS })
