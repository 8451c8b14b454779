// argv → serve, sandbox or a command of an operator.

import { runCommandLine } from './cli/program.ts'

process.exitCode = await runCommandLine(process.argv.slice(2))
