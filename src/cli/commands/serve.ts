// cowry serve: runs the service.

import { type Command, InvalidArgumentError, Option } from 'commander'
import { ConfigError, ROLES, type Role } from '../../config.ts'
import { type JsonOption, withJson } from '../options.ts'
import type { Shell } from '../shell.ts'
import { CommandError } from '../terminal.ts'

export function addServeCommand(program: Command, shell: Shell): void {
  withJson(program.command('serve'))
    .description('Run the service. Settings come from the environment; .env.example lists them.')
    .addOption(
      new Option('--role <role>', 'serve requests (api), run the background work (worker), or both (all)')
        .choices(ROLES)
        .default('all'),
    )
    .option('--workers <count>', 'the number of processes that share the port', parseWorkers, 1)
    .action(async ({ role, workers, json }: JsonOption & { role: Role; workers: number }) => {
      const options = { role, workers, json: json ?? false }
      shell.exitCode = await shell.entryPoints.serve(shell.env, options).catch(explainStartFailure)
    })
}

// Each worker is a process with its own database connections; more would exceed the processors or PostgreSQL's
// connections.
const MAX_WORKERS = 64

function parseWorkers(text: string): number {
  const count = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (count >= 1 && count <= MAX_WORKERS) return count
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${MAX_WORKERS}.`)
}

/** A start that fails because of the machine or the settings prints its message; a bug prints its stack. */
function explainStartFailure(error: unknown): never {
  const isBug = error instanceof TypeError || error instanceof ReferenceError || !(error instanceof Error)
  if (isBug || error instanceof ConfigError || error instanceof CommandError) throw error
  throw new CommandError('start_failed', `The service did not start: ${error.message}`)
}
