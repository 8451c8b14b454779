// cowry serve

import { type Command, Option } from 'commander'
import type { Role } from '../app.ts'
import { ConfigError, readConfig } from '../config.ts'
import { type JsonOption, withJson } from './options.ts'
import type { Shell } from './shell.ts'
import { CommandError } from './terminal.ts'

const ROLES: readonly Role[] = ['all', 'api', 'worker']

export function addServeCommand(program: Command, shell: Shell): void {
  withJson(program.command('serve'))
    .description('Run the service. Settings come from the environment; .env.example lists them.')
    .addOption(
      new Option('--role <role>', 'answer requests (api), do the background work (worker), or both')
        .choices(ROLES)
        .default('all'),
    )
    .action(async ({ role, json }: JsonOption & { role: Role }) => {
      // Only here, so that the other commands start without loading the whole service.
      const [{ serve }, { GATEWAYS }] = await Promise.all([import('../serve.ts'), import('../app.ts')])
      const config = readConfig(shell.env, GATEWAYS)
      shell.exitCode = await serve(config, { role, json: json ?? false }).catch(explainStart)
    })
}

/** A start fails for reasons of the machine or the settings, which their own words explain; a bug keeps its stack. */
function explainStart(error: unknown): never {
  const isBug = error instanceof TypeError || error instanceof ReferenceError || !(error instanceof Error)
  if (isBug || error instanceof ConfigError || error instanceof CommandError) throw error
  throw new CommandError('start_failed', `The service did not start: ${error.message}`)
}
