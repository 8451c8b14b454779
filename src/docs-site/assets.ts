// The style and the script of the site. Their addresses contain their digests, so browsers cache them as immutable.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { PAGE_COLOURS } from '../kit/http/page-colours.ts'
import type { PageRoute } from '../kit/http/route.ts'

interface Asset {
  path: string
  type: string
  body: string
}

const read = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8')

function assetOf(name: string, extension: string, type: string, body: string): Asset {
  const digest = createHash('sha256').update(body).digest('hex').slice(0, 12)
  return { path: `/docs/assets/${name}.${digest}.${extension}`, type: `${type}; charset=utf-8`, body }
}

export const STYLE = assetOf('site', 'css', 'text/css', PAGE_COLOURS + read('./site.css'))
export const SCRIPT = assetOf('site', 'js', 'text/javascript', read('./client.js'))

export function assetRoutes(): PageRoute[] {
  return [STYLE, SCRIPT].map(({ path, type, body }) => ({
    method: 'GET',
    path,
    handle: async () => ({ http: 200, cache: 'immutable', content: { type, body } }),
  }))
}
