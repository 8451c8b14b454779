// Fonts for scripts that the test browser lacks and every phone has. They are loaded as bytes instead of from an address,
// so that the page's policy stays in force, and before the layout, because text that was laid out without its font partly
// keeps that layout.

import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Language } from '../../src/core/languages.ts'

const FONTS: readonly (readonly [language: Language, family: string, file: string])[] = [
  [
    'ar',
    'Noto Sans Arabic',
    import.meta.resolve(
      '@fontsource-variable/noto-sans-arabic/files/noto-sans-arabic-arabic-wght-normal.woff2',
    ),
  ],
  [
    'am',
    'Noto Sans Ethiopic',
    import.meta.resolve(
      '@fontsource-variable/noto-sans-ethiopic/files/noto-sans-ethiopic-ethiopic-wght-normal.woff2',
    ),
  ],
  [
    'bn',
    'Noto Sans Bengali',
    import.meta.resolve(
      '@fontsource-variable/noto-sans-bengali/files/noto-sans-bengali-bengali-wght-normal.woff2',
    ),
  ],
]

/** The sign of the taka, which is a Bengali letter, for pages in every language. */
export async function takaFontScript(): Promise<string> {
  const [, , file] = FONTS.find(([language]) => language === 'bn') ?? []
  const base64 = await readFile(fileURLToPath(file ?? ''), 'base64')
  return `document.fonts.add(new FontFace('Noto Sans', Uint8Array.fromBase64('${base64}'), { unicodeRange: 'U+9F3' }))`
}

/** For every page before its own script: all fonts, or only that of the language in the address. */
export async function fontScript(which: 'all' | 'own'): Promise<string> {
  const fonts = await Promise.all(
    FONTS.map(async ([language, family, file]) => ({
      language,
      family,
      base64: await readFile(fileURLToPath(file), 'base64'),
    })),
  )
  return `{
    const asked = new URLSearchParams(location.search).get('lang')
    for (const { language, family, base64 } of ${JSON.stringify(fonts)})
      if (${which === 'all'} || language === asked)
        document.fonts.add(new FontFace(family, Uint8Array.fromBase64(base64), { weight: '100 900' }))
  }`
}
