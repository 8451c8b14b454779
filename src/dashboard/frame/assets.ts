// The style and the script of the dashboard. Their addresses contain their digests, so browsers cache them as immutable.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { PageRoute } from '../../kit/http/route.ts'

function asset(file: string, type: string) {
  const source = readFileSync(new URL(file, import.meta.url), 'utf8')
  const digest = createHash('sha384').update(source).digest('base64')
  const [name = '', extension = ''] = file.replace('./', '').split('.')
  return {
    source,
    type: `${type}; charset=utf-8`,
    path: `/assets/dashboard-${name}.${digest.replaceAll(/[^0-9A-Za-z]/g, '').slice(0, 12)}.${extension}`,
    integrity: `sha384-${digest}`,
  }
}

export const STYLE = asset('./style.css', 'text/css')
export const SCRIPT = asset('./client.js', 'text/javascript')

export const assetRoutes: PageRoute[] = [STYLE, SCRIPT].map(({ path, type, source }) => ({
  method: 'GET',
  path,
  ignoresInput: true,
  handle: async () => ({ http: 200, content: { type, body: source }, cache: 'immutable' }),
}))
