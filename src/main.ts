// argv → serve, sandbox or a command of an operator.

import { runCommandLine } from './cli/program.ts'
import { endWithoutReader } from './cli/terminal.ts'

const argv = process.argv.slice(2)
endWithoutReader(argv)

process.exitCode = await runCommandLine(argv)
