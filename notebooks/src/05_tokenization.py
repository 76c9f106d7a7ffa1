# %% [markdown]
# # 5 · Tokenization: what a model reads
#
# A network reads numbers, and a text is none. Into which pieces should it be cut, how many different ones may there be, and what is lost, gained or forged on the way?
#
# **Afterwards you can** build vocabularies of characters, words and bytes and say what each loses, keep control tokens out of reach of ordinary text, train byte pair encoding by hand and use it fast, read the patterns of GPT-2 and GPT-4, correct what is often said of them, and turn interest rates into tokens.
#
# **Before**: notebook 1 (vocabularies of characters, counting pairs); 2.1 (a table that gives each id a vector).
#
# **Runs in** {runs_in}.
#
# **Source**: byte pair encoding for text is by Sennrich, Haddow and Birch (2016), on bytes by Radford et al. (2019, GPT-2); the two published vocabularies are OpenAI's.

# %% tags=["setup", "machine"]
import matplotlib.pyplot as plt
import regex
import torch
from torch import nn
from torch.nn import functional as F

from coursekit import data
from coursekit.data.recorded import count_tokens, open_tokenizer
from coursekit.notebook import claim, figure, setup, show

setup("05_tokenization", seed=42)
plays, gpt2, gpt4 = data.shakespeare(), open_tokenizer("gpt2"), open_tokenizer("gpt4")

# %% [markdown]
# ## 5.1 Characters, words, or something between?
#
# A **token** is a piece of text that a model reads as one symbol; a **tokenizer** cuts a text into tokens and gives each its number, its **id**. So far a token was a letter. It could be a word. The tokenizers of GPT-2 and GPT-4, which lie in the files just loaded, take something between.
#
# **Predict**: GPT-2 knows 50,257 tokens. How does it cut *Steenrod*, the name of a mathematician?

# %%
title = "The Steenrod problem for closed orbifolds"
cuts = {"characters": list(title), "words": title.split(" ")}
for name, tokenizer in {"GPT-2": gpt2, "GPT-4": gpt4}.items():
    cuts[name] = [tokenizer.decode([i]) for i in tokenizer.encode(title)]
for name, pieces in cuts.items():
    print(f"{name:10} {len(pieces):2}  {'|'.join(pieces)}")

# %%
assert "|".join(cuts["GPT-2"]) == "The| Ste|en|rod| problem| for| closed| orb|if|olds"
assert cuts["GPT-2"] == cuts["GPT-4"]
claim(title_tokens=len(cuts["GPT-2"]))

# %% [markdown]
# Frequent words are one token, rare ones are cut into pieces, and the first piece of a word carries the space before it. How such a vocabulary is found is the subject of this notebook. First, why not simply words?
#
# `GEOMETRY` is a little text of ours, two paragraphs about surfaces.

# %%
text = data.GEOMETRY
first, second = text.split("\n\n")
print(first[:98])
print(f"{len(text)} characters, {len(set(text))} different; {len(text.split())} words")
claim(geometry_characters=len(text))
claim(geometry_words=len(text.split()))

# %% [markdown]
# A vocabulary of words lists those of some training text. Whatever is not in the list becomes **UNK**, "unknown". The simplest way to find words is to cut at each space:

# %% tags=["shown"]
from coursekit.tokens.words import Lexicon, Special, split_at_spaces

show(Lexicon, Special)

# %%
words = Lexicon.of(first, split_at_spaces, " ")
print([word for word in words.pieces if "\n" in word or not word.isalpha()][:9])
print(words.decode(words.encode("The problem of the sphere is solved.")))
print(words.decode(words.encode("The problem, on  a sphere, is solved!")))
unknown = words.encode("problem,").count(Special.UNK) + words.encode("a  a").count(Special.UNK)
claim(unknown_by_form=unknown)

# %% [markdown]
# *point;* is a word of its own; so is *no*, a line break and *such*, all in one. *The* is unknown, for in the paragraph a line break is glued to it. A known word becomes unknown through a comma, and two spaces in a row leave an empty word between them.
#
# **Predict**: words learnt from the first paragraph, the second one read. Which share of it is unknown? And what if there is much more text: nine tenths of the plays read for words, the last tenth to be encoded?

# %% tags=["data"]
cut = int(0.9 * len(plays))
train, held_out = plays[:cut], plays[cut:]
unknown = {}
for name, (seen, new) in {"paragraph": (first, second), "plays": (train, held_out)}.items():
    ids = Lexicon.of(seen, split_at_spaces, " ").encode(new)
    unknown[name] = ids.count(Special.UNK) / len(ids)
    print(f"{name}: {unknown[name]:.1%} of {len(ids):,} words unknown")
letters_only = regex.compile(r"\p{L}+").findall
ids = Lexicon.of(train, letters_only).encode(held_out)
print(f"plays, runs of letters: {ids.count(Special.UNK) / len(ids):.1%} of {len(ids):,} unknown")

# %% tags=["data"]
claim(unknown_paragraph=unknown["paragraph"])
about = {"why": "counted on fixed data", "data": "shakespeare", "stand_in": (0.09, 0.13)}
claim(unknown_plays=unknown["plays"])

# %% [markdown]
# Most of the unknown words of the plays have a line break or a mark glued to them, as above. But words of letters only run out, too: a million characters do not hold all those of the next hundred thousand. Names and inflected forms never end. Characters have the opposite fault: almost none is unknown, but a text becomes long, and the model must learn to spell before it can say anything.

# %% [markdown]
# ## 5.2 An order that lasts
#
# Ids are a numbering of the vocabulary: each token has one number, each number one token. In formulas they often run from 1 to V. In code they run from 0 to V - 1, because they are rows of a table (`nn.Embedding` makes one: here a vector of 5 numbers for each id):

# %%
from coursekit.tokens.vocabulary import Vocabulary

letters = Vocabulary.of(text)
table = nn.Embedding(len(letters), 5)
assert letters.decode(range(len(letters))) == "".join(sorted(set(text)))  # one to one
print("largest id", max(letters.encode(text)), "of", len(letters), "characters")
claim(largest_letter_id=max(letters.encode(text)))
try:
    table(torch.tensor(len(letters)))
except IndexError as refusal:
    print("IndexError:", refusal)

# %% [markdown]
# Which token gets which number is a matter of taste, as long as it *stays*. Here is a slip that many a tutorial prints: `enumerate(set(text))`. A set of strings has no order of its own. Python scrambles it anew in each process (PYTHONHASHSEED fixes how). Two processes, the same line:

# %% tags=["machine"]
import subprocess
import sys

orders = {"set(text)": [], "sorted(set(text))": []}
for expression, seen in orders.items():
    code = f"text = 'the sphere'; print({{c: i for i, c in enumerate({expression})}})"
    command = [sys.executable, "-c", code]
    for seed in ("1", "2"):
        printed = subprocess.check_output(command, env={"PYTHONHASHSEED": seed}, text=True)
        seen.append(printed.strip())
    print(expression, *seen, sep="\n  ")

# %%
scrambled, ordered = (len(set(seen)) for seen in orders.values())
claim(orders_of_a_set=scrambled)
claim(orders_when_sorted=ordered)

# %% [markdown]
# A model trained with the first ids is worthless in any later process: its rows belong to other letters. Our vocabularies are sorted.

# %% [markdown]
# ## 5.3 Tokens that no text can spell
#
# Some tokens are signals rather than text: **BOS** and **EOS** mark the beginning and the end of a text, **PAD** fills a short text up to the length of its batch, UNK was met above. In `Lexicon` they are the ids 0 to 3. How about a reader who *types* them?

# %%
typed = words.encode("<EOS> [EOS] EOS </s> <|endoftext|>")
print(typed, [Special(i).name for i in sorted(set(typed))])
forged = sum(i < Special.UNK for i in typed + words.encode(held_out))
claim(forged_ids=forged)
claim(special_ids=len(set(map(int, Special))))

# %% [markdown]
# No spelling, no forgery. (If a program *joins* its signals to the text as strings and encodes the whole, anyone can end a text, or speak in another's name, by typing the string.)
#
# **PAD and the loss.** Texts of different lengths share a batch after padding. Nothing should be learnt from the filling, so the loss leaves it out: `ignore_index`.

# %%
rows = [words.encode(line) for line in ("the sphere is a surface", "a torus")]
batch = nn.utils.rnn.pad_sequence(
    [torch.tensor(row) for row in rows], batch_first=True, padding_value=Special.PAD
)
batch

# %%
generator = torch.Generator().manual_seed(42)
logits = torch.randn(*batch.shape, len(words), generator=generator)
flat = {"input": logits.flatten(0, 1), "target": batch.flatten()}
ignored = F.cross_entropy(**flat, ignore_index=Special.PAD)
real = torch.cat([logits[i, : len(row)] for i, row in enumerate(rows)])
alone = F.cross_entropy(real, torch.tensor(rows[0] + rows[1]))
claim(padding_ignored=(ignored - alone).abs())
counted = F.cross_entropy(**flat)
claim(padding_counted=(counted - alone).abs())

# %% [markdown]
# **EOS and the prompt.** Some tokenizers append EOS to everything they encode. That is right for a text to learn from. It is wrong for a prompt, the beginning that a model is to continue. Count which word follows which in `SENTENCES`, ten sentences of market news, and continue with the most frequent one until EOS, or until there are twelve tokens:

# %%
from coursekit.windows.tokens import slide_windows
from coursekit.models.ngram import count_ngrams

news = Lexicon.of(" ".join(data.SENTENCES), split_at_spaces, " ")
framed = [[Special.BOS, *news.encode(sentence), Special.EOS] for sentence in data.SENTENCES]
pairs = torch.cat([slide_windows(torch.tensor(ids), 2) for ids in framed])
follows = count_ngrams(pairs, len(news))  # [word, next word]


# %%
def continue_text(ids, most=12):
    while len(ids) < most and follows[ids[-1]].any():  # while anything was seen to follow
        ids = [*ids, int(follows[ids[-1]].argmax())]
    return ids


prompt = news.encode("Prices in")
for start in (prompt, [*prompt, int(Special.EOS)]):
    added = continue_text(start)[len(start) :]
    print(len(added), "tokens:", news.decode(added))
assert len(continue_text(prompt)) == 12
claim(tokens_after_eos=len(added))

# %% [markdown]
# And a sampler that does not stop at EOS would continue from a token after which nothing was ever seen. So `encode` adds nothing; whoever wants BOS or EOS writes them.

# %% [markdown] tags=["exercise"]
# > **Exercise 1.** Messages of several people go to one model. Write `join_messages(messages)`: the UTF-8 bytes of each message as ids 0 … 255 (a **byte** is a number from 0 to 255, and UTF-8 the usual way to write a text in bytes: section 5.4), and after each message the id 256, "end of message". A message may hold anything, also the letters `<|end|>`. Return a list of integers. Check: `check_join_messages`.
# >
# > <details><summary>Hint 1</summary>What would a string that stands for the end do if someone types it?</details>
# > <details><summary>Hint 2</summary><code>list("é".encode())</code> gives bytes as integers. Encode each message alone.</details>


# %% tags=["stub"]
def join_messages(messages): ...


# %% tags=["check"]
from coursekit.exercises import tokens as exercises

exercises.check_join_messages(join_messages)


# %% tags=["solution"]
def join_messages(messages):
    ids = []
    for message in messages:
        ids += [*message.encode(), 256]
    return ids


# %% [markdown]
# ## 5.4 Unicode and bytes
#
# What is a character, in a computer? Unicode gives each a number, its **code point**: more than 150,000 are assigned so far, with room for 1,114,112. A file holds **bytes**, numbers from 0 to 255. UTF-8 is the usual way to write the one as the other:
#
# | code point | bytes | how |
# |---|---|---|
# | below 128 (ASCII) | 1 | itself |
# | below 2,048 | 2 | 110xxxxx 10xxxxxx |
# | below 65,536 | 3 | 1110xxxx 10xxxxxx 10xxxxxx |
# | the others | 4 | 11110xxx 10xxxxxx 10xxxxxx 10xxxxxx |
#
# **Predict**: ü is code point 252, which fits into a byte. How many bytes does UTF-8 take?

# %%
for character in "eü漢👍":
    encoded = character.encode()
    print(f"{character}  code point {ord(character):7,}  bytes {encoded.hex(' ')}")
bits = 0b110 << 13 | (252 >> 6) << 8 | 0b10 << 6 | 252 & 0b111111  # the second row of the table
assert bits.to_bytes(2, "big") == "ü".encode()

# %% [markdown]
# The library's tokenizer of bytes has 256 tokens, one for each byte (5.6 gives it more):

# %%
from coursekit.tokens.bpe import BPE

plain = BPE({bytes([i]): i for i in range(256)})
print(plain.encode("eü漢"))
assert plain.encode("ü") == [*bits.to_bytes(2, "big")]
claim(bytes_of_u_umlaut=len(plain.encode("ü")))

# %% [markdown] tags=["exercise"]
# > **Exercise 2.** Write `count_bytes(code_points)`: how many bytes UTF-8 takes for a list of code points, from the table above and without `encode`. Check: `check_count_bytes`.
# >
# > <details><summary>Hint 1</summary>Start with one byte each. When does a second one come?</details>
# > <details><summary>Hint 2</summary>In Python <code>True</code> counts as 1: <code>1 + (c >= 128) + …</code></details>


# %% tags=["stub"]
def count_bytes(code_points): ...


# %% tags=["check"]
exercises.check_count_bytes(count_bytes)


# %% tags=["solution"]
def count_bytes(code_points):
    return sum(1 + (c >= 128) + (c >= 2048) + (c >= 65536) for c in code_points)


# %% [markdown]
# Two numberings that both have 256 entries are easily mixed up: the 256 *bytes*, and the first 256 *code points*, called Latin-1. A slip you will meet starts its vocabulary with `chr(i) for i in range(256)` and calls it "the first 256 ASCII characters". ASCII has 128. And these are characters, not bytes: whatever lies beyond is unknown.
#
# Four tokenizers, five texts. Which come back as they were?

# %%
latin = Lexicon(map(chr, range(256)))
both = sum(plain.encode(chr(i)) == [i] for i in range(256))  # the byte is the code point
claim(ascii_characters=both)
tokenizers = {
    "characters": Lexicon.of(text),
    "words": Lexicon.of(text, split_at_spaces, " "),
    "256 code points": latin,
}
back = {name: lambda s, t=t: t.decode(t.encode(s)) for name, t in tokenizers.items()}
back["bytes"] = lambda s: plain.decode(plain.encode(s))
samples = ["the sphere is a surface", "the  sphere", "Zürich", "漢字", "👍"]

# %%
print(f"{'':15}", *(repr(sample) for sample in samples))
came_back = {}
for name, there_and_back in back.items():
    came_back[name] = [there_and_back(sample) == sample for sample in samples]
    marks = ("✓" if right else "–" for right in came_back[name])
    print(f"{name:15}", *(f"{m:^{len(s) + 2}}" for m, s in zip(marks, samples, strict=True)))
print(back["characters"]("Zürich"), *map(back["256 code points"], ("漢字", "字漢")))

# %%
for name in ("characters", "words", "256 code points", "bytes"):
    claim(**{f"round-trips-{name.split()[-1]}": sum(came_back[name])})

# %% [markdown]
# A tokenizer is a map from texts to sequences of ids. If two texts share an image, as 漢字 and 字漢 do here, no map back can know which it was. With a finite list of characters or words that is bound to happen. With bytes it can't: each text has its own bytes. (Not each sequence of bytes is a text, though. Cut inside a character, and the piece decodes to "�".)
#
# (One version writes the letters `<|UNK|>` where something was unknown. Then Zürich comes back as "Z<|UNK|>rich", which somebody might really have written. � is the character that Unicode reserves for the purpose.)
#
# So bytes lose nothing, ever. But they make a text even longer than characters do. What is still missing is a way to make long pieces of short ones.

# %% [markdown]
# ## 5.5 Byte pair encoding, by hand
#
# **Byte pair encoding** (BPE) starts with the 256 bytes as tokens. Then, again and again: find the pair of neighbours that occurs most often, and make it a new token. After M merges the vocabulary has 256 + M tokens, and the text is shorter, or at least not longer.
#
# On paper, with "a rat sat at a mat":

# %%
from coursekit.tokens.merges import count_pairs, merge_pair

toy = list(b"a rat sat at a mat")
spelling = {i: chr(i) for i in range(256)}
for new in range(256, 259):
    counts = count_pairs(toy)
    pair = min(counts, key=lambda pair: (-counts[pair], pair))  # the smaller ids win a tie
    spelling[new] = spelling[pair[0]] + spelling[pair[1]]
    toy = merge_pair(toy, pair, new)
    print(f"{counts[pair]} × {spelling[new]!r:5} {len(toy):2}:", "|".join(spelling[i] for i in toy))

# %% [markdown]
# Before you look at these two functions, write one of them.

# %% [markdown] tags=["exercise"]
# > **Exercise 3.** Write `join_pair(ids, pair, new)`: each place where the two ids of `pair` stand side by side becomes the one id `new`, from left to right. Return a list. Check: `check_join_pair`.
# >
# > <details><summary>Hint 1</summary>Three equal ids in a row, and a pair of two of them: the middle one can be used only once.</details>
# > <details><summary>Hint 2</summary>Build a new list. Before appending an id, look whether it and the last one there are the pair.</details>


# %% tags=["stub"]
def join_pair(ids, pair, new): ...


# %% tags=["check"]
exercises.check_join_pair(join_pair)


# %% tags=["solution"]
def join_pair(ids, pair, new):
    joined, free = [], False  # free: the last id may still be merged
    for i in ids:
        if free and (joined[-1], i) == tuple(pair):
            joined[-1], free = new, False
        else:
            joined.append(i)
            free = True
    return joined


# %% tags=["shown"]
from coursekit.tokens.merges import count_pairs, merge_pair

show(count_pairs, merge_pair)

# %% [markdown]
# A subtlety: "aaa" holds the pair aa *twice*, and it can be merged only *once*. Counting includes overlaps, as all common implementations do.

# %%
aaa = list(b"aaa")
claim(aaa_counted=count_pairs(aaa)[97, 97])
claim(aaa_merged=merge_pair(aaa, (97, 97), 256).count(256))

# %% [markdown]
# As a function, for several chunks of text, between which nothing merges. It ends early if no pair is left:

# %%
from collections import Counter


def recount_and_merge(chunks, new_ids):
    merges = {}
    for new in new_ids:
        counts = sum(map(count_pairs, chunks), Counter())
        if not counts:
            break
        pair = min(counts, key=lambda pair: (-counts[pair], pair))
        merges[pair] = new
        chunks = [merge_pair(chunk, pair, new) for chunk in chunks]
    return merges, chunks


# %%
merges, chunks = recount_and_merge([list(text.encode())], range(256, 300))
spelling = {i: bytes([i]) for i in range(256)}
for (a, b), new in merges.items():
    spelling[new] = spelling[a] + spelling[b]
assert b"".join(spelling[i] for i in chunks[0]) == text.encode()
different = len(set(spelling.values()))
print(f"{len(text.encode())} bytes become {len(chunks[0])} tokens, {different} different")
claim(merged_vocabulary=different)
claim(merged_length=len(chunks[0]) / len(text.encode()))

# %% [markdown]
# ## 5.6 Encoding, decoding, and small texts
#
# The merges are learnt. A new text is encoded with the same merges *in the order in which they were learnt*: among all neighbours that can be merged, the pair with the lowest new id goes first. Does the order matter? Here is another one, from left to right as they come:


# %%
from itertools import pairwise


def merge_leftmost(ids):
    while possible := [pair for pair in pairwise(ids) if pair in merges]:
        ids = merge_pair(ids, possible[0], merges[possible[0]])
    return ids


spelling = {i: chr(i) for i in range(256)}
for (a, b), new in merges.items():
    spelling[new] = spelling[a] + spelling[b]
print("|".join(spelling[i] for i in merge_leftmost(list(b"ring"))))
print(len(merge_leftmost(list(text.encode()))), "tokens instead of", len(chunks[0]))

# %% [markdown]
# *in* was learnt before *ri*, so the training text has r|in|g. From left to right, the same word becomes ri|n|g, which the model has never seen, and the whole text becomes longer. Encoding must repeat what training did.

# %% [markdown] tags=["exercise"]
# > **Exercise 4.** Write `apply_merges(ids, merges)`: encode a list of bytes with learnt merges, a dictionary from pairs to their new ids. Always merge the pair with the lowest new id, until none is left. Return a list. Check: `check_apply_merges`.
# >
# > <details><summary>Hint 1</summary>Merging may create a pair that was not there before. Look again after each merge.</details>
# > <details><summary>Hint 2</summary>Use <code>count_pairs</code>, keep the pairs that are in <code>merges</code>, take the <code>min</code> by <code>merges.get</code>, and call <code>merge_pair</code>.</details>


# %% tags=["stub"]
def apply_merges(ids, merges): ...


# %% tags=["check"]
exercises.check_apply_merges(apply_merges)


# %% tags=["solution"]
def apply_merges(ids, merges):
    while possible := [pair for pair in count_pairs(ids) if pair in merges]:
        pair = min(possible, key=merges.get)
        ids = merge_pair(ids, pair, merges[pair])
    return ids


# %% [markdown]
# Applied to the training text itself, that gives back the training tokens. The library's version does the same with a **heap**, a list so arranged that its smallest entry is always at hand, so that it need not look at all pairs after each merge. It names a token by its bytes, and a **rank** is the id that those bytes have.

# %% tags=["shown"]
from coursekit.tokens.merges import merge_ranked

show(merge_ranked)

# %%
from coursekit.exercises import answer_or
from coursekit.tokens.bpe import BPE, train_bpe

bpe = train_bpe(text, 300, pattern=None)
apply_merges = answer_or(apply_merges, lambda ids, _: bpe.encode(bytes(ids).decode()))
assert [spelling[i] for i in apply_merges(list(b"ring"), merges)] == ["r", "in", "g"]
assert apply_merges(list(text.encode()), merges) == chunks[0] == bpe.encode(text)
new_text = "Is a Möbius strip 漢字 a surface? 👍"
assert apply_merges(list(new_text.encode()), merges) == bpe.encode(new_text)
assert bpe.decode(bpe.encode(new_text)) == new_text
claim(bpe_size=len(bpe))
claim(bpe_largest_id=max(bpe.encode(new_text)))

# %% [markdown]
# Decoding puts the bytes of the tokens side by side. One token alone need not be a whole character:

# %%
ids = bpe.encode("漢")
print(ids, [bpe.token(i) for i in ids], [bpe.decode([i]) for i in ids], bpe.decode(ids))

# %% [markdown]
# **When does it stop?** A text may have too few pairs, and a vocabulary of less than 256 has no room for the bytes. A widespread version takes `max` of the counts first and asks afterwards whether there was a pair. With the text "ab" it fails at the second merge, with a message that says nothing of pairs. Asked for 200 tokens, it returns more than 256 without a word, and a table of 200 rows meets an id it doesn't have. Ours says what is wrong:

# %%
try:
    max(Counter().items(), key=lambda item: item[1])
except ValueError as refusal:
    print("max:", refusal)
for sample, size in (("ab", 300), (text, 200)):
    try:
        train_bpe(sample, size)
    except ValueError as refusal:
        print("train_bpe:", refusal)
try:
    nn.Embedding(200, 5)(torch.tensor(bpe.encode("Möbius")))
except IndexError as refusal:
    print("embedding:", refusal)

# %% [markdown]
# **Special tokens** stand outside the merges, with ids behind them. What if a text holds their name? `encode` has three answers: refuse (unless told otherwise), take it for the signal, or for ordinary letters.

# %%
chat = train_bpe(text, 300, special=["<|endoftext|>"])
name = "<|endoftext|>"
try:
    chat.encode("a" + name)
except ValueError as refusal:
    print(refusal)
print("as signal:", chat.encode("a" + name, allowed_special={name}))
print("as text:  ", as_text := chat.encode("a" + name, disallowed_special=()))
claim(forged_special=as_text.count(chat.special[name]))

# %% [markdown]
# A tokenizer belongs to its model, so it is saved beside it: merges, pattern (next section) and special tokens.

# %%
import tempfile
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    chat.save(Path(folder) / "tokenizer.json")
    assert BPE.load(Path(folder) / "tokenizer.json") == chat

# %% [markdown]
# ## 5.7 The same merges, faster
#
# Recounting every pair for each merge reads the whole text again and again. It need not: merging one pair changes the counts only where the pair stood. So the library keeps a ledger: how often each pair occurs, and where; a heap has the most frequent one at hand. And if the text is cut into chunks first, each *different* chunk is merged once, however often it occurs.

# %% tags=["shown"]
from coursekit.tokens.merges import PairLedger, learn_merges

show(learn_merges, PairLedger)

# %% [markdown]
# **Predict**: 200,000 characters, 256 merges. How many times faster?

# %% tags=["machine"]
import time

from coursekit.tokens.patterns import GPT2, GPT4


def measure(work, *arguments, times=1, **options):
    spent = []
    for _ in range(times):
        begin = time.perf_counter()
        result = work(*arguments, **options)
        spent.append(time.perf_counter() - begin)
    return result, min(spent)


sample = plays[:200_000]
(slow, _), recounting = measure(recount_and_merge, [list(sample.encode())], range(256, 512))
quick, keeping = measure(train_bpe, sample, 512, pattern=None, times=3)
_, distinct = measure(train_bpe, sample, 512, pattern=GPT4, times=3)
print(f"recounting {recounting:.2f} s, keeping counts {keeping:.2f} s, chunks {distinct:.3f} s")

# %% tags=["machine"]
token = quick.token
assert [token(new) for new in slow.values()] == [token(a) + token(b) for a, b in slow]
about = {"why": "two timings of this run, side by side"}
claim(faster_by_counts=recounting / keeping)
claim(faster_by_chunks=recounting / distinct)

# %% [markdown]
# The same 256 merges as by recounting, in a fraction of the time. With chunks the time falls once more, but then the merges are others: the next section says why that is wanted.

# %% [markdown]
# ## 5.8 Cut before you merge
#
# BPE follows frequency and knows no words. Give it dogs:

# %%
kennel = "My dog. Your dog! Whose dog? Hot dog. Bad dog! A dog? " * 5
for how, pattern in {"uncut": None, "cut by GPT-4's pattern": GPT4}.items():
    learnt = train_bpe(kennel, 256 + 20, pattern=pattern)
    tokens = [learnt.token(i).decode() for i in range(256, 276)]
    mixed = [t for t in tokens if regex.search(r"\w", t) and regex.search(r"[.!?]", t)]
    print(f"{how}: {len(mixed)} of 20 mix letters and marks:", mixed)
    claim(**{f"mixed-{how.split()[0]}": len(mixed)})

# %% [markdown]
# *dog.*, *dog!* and *dog?* each take a place in the vocabulary, and what is learnt of one says nothing of the others. On the plays, the first merges tell the same story:

# %% tags=["data"]
uncut = train_bpe(train, 1024, pattern=None)
first_merges = [uncut.token(i).decode() for i in range(256, 276)]
print(first_merges)
across = sum(bool(regex.search(r"\S\s", token)) for token in first_merges)
about = {"why": "counted on fixed data", "data": "shakespeare", "stand_in": (4, 9)}
claim(merges_across_words=across)

# %% [markdown]
# "e " and "s " join the end of a word to the space behind it, and later merges run on into the next word, as in *d dog!* above. So GPT-2 and its successors first *cut* the text with a regular expression. Then merges happen within chunks only.
#
# (`+` means "one or more", `?` "one or none", `[…]` any of the characters listed, `[^…]` any other.) A version of the two main rules that you will find printed: `(?\p{L}+)` and `(?[^\s\p{L}\p{N}]+)`. Does it compile?

# %%
failed = 0
for pattern in (r"(?\p{L}+)", r"(?[^\s\p{L}\p{N}]+)", r" ?\p{L}+", r" ?[^\s\p{L}\p{N}]+"):
    try:
        print(pattern, "finds", regex.findall(pattern, "My dog. Whose dog?!"))
    except regex.error as refusal:
        print(pattern, "fails:", refusal)
        failed += 1
claim(patterns_that_fail=failed)

# %% [markdown]
# A space was lost in print: ` ?` means "a space, or none". (`\p{L}` is any letter, `\p{N}` any digit or number sign, such as ½, `\s` white space; the package `regex` knows them, Python's `re` doesn't.) And there are more than two rules. The patterns, with their alternatives tried from left to right:

# %%
lost = 0
for pattern in (GPT2, GPT4):
    print(pattern)
    lost += len(plays) - len("".join(regex.findall(pattern, plays)))
claim(characters_lost=lost)

# %% [markdown]
# | rule | GPT-2 | GPT-4 |
# |---|---|---|
# | endings after an apostrophe | 's 't 'll 've 're 'd 'm, small letters | capitals too |
# | words | letters, with one space before | letters, with any one mark or space before |
# | numbers | digits, with one space before | at most three digits, no space |
# | marks | a run of them, with one space before | the same, and line breaks after |
# | white space | leaves its last space to the next word | the same; line breaks end a chunk |
#
# **Predict** for each of these strings how GPT-2's pattern cuts it, and how GPT-4's does:

# %%
for sample in ("I can't", "I CAN'T", "in 1234567 days", "a.append(b)", "Stop!?\n\nGo", "x    y"):
    chunks = ["|".join(regex.findall(pattern, sample)) for pattern in (GPT2, GPT4)]
    print(f"{sample!r:20} {chunks[0]!r:24} {chunks[1]!r}")

# %% [markdown]
# What does each rule buy? Add them one by one, train 1,024 tokens each time, and encode the held-out tenth of the plays. **Predict** which rule shortens verse most.

# %% tags=["data"]
marks = r" ?[^\s\p{L}\p{N}]+"
ladder = {
    "uncut": None,
    "words with their marks": r"\S+|\s+",
    "letters, digits, marks": r"\p{L}+|\p{N}+|[^\s\p{L}\p{N}]+|\s",
    "+ one space before": rf" ?\p{{L}}+| ?\p{{N}}+|{marks}|\s",
    "+ runs of white space": GPT2.partition("|ve|re)|")[2],
    "+ endings: GPT-2": GPT2,
    "+ line breaks after marks": GPT2.replace(marks, marks + r"[\r\n]*"),
    "all of GPT-4's": GPT4,
}

# %% tags=["data"]
rate, mixed = {}, {}
marked = regex.compile(r"\s?\p{L}+[.,;:!?]\s?")
for name, pattern in ladder.items():
    learnt = train_bpe(train, 1024, pattern=pattern) if pattern else uncut
    rate[name] = len(learnt.encode(held_out)) / len(held_out)
    mixed[name] = sum(bool(marked.fullmatch(learnt.decode([i]))) for i in range(1024))
    print(f"{name:25} {rate[name]:.4f} tokens a character, {mixed[name]:2} a word with a mark")

# %% tags=["data"]
bare, spaced, runs, gpt2_rate, broken, gpt4_rate = list(rate.values())[2:]
about = {"why": "arithmetic on fixed data", "data": "shakespeare"}
claim(space_gain=1 - spaced / bare)
claim(run_gain=1 - runs / spaced)
claim(ending_gain=1 - gpt2_rate / runs)
claim(break_gain=1 - broken / gpt2_rate)
gain = rate["uncut"] - gpt4_rate
claim(cut_over_uncut=gain)
claim(marks_uncut=mixed["uncut"])
claim(marks_cut=mixed["+ endings: GPT-2"] + mixed["all of GPT-4's"])

# %% [markdown]
# Letters, digits and marks apart: no token is a word with a mark any more. That costs a little length, and the space that rides with its word wins back far more: about a fifth of all tokens. The other rules depend on the text. Runs of white space are worth nothing here: nearly all runs in the plays are two line breaks, and the rule, which leaves out the last character of a run, parts them again. The next section shows what it does for programs. Verse gains by the line break that may stay with a comma.
#
# With all its rules, GPT-4's pattern makes the plays shorter than no cut at all, for there many of the 1,024 places go to endings such as "e " and "d ". That is no law: on a manual full of tables the uncut vocabulary wins. The cut is not there for length. It is for tokens that mean one thing each.
#
# How much shorter, at most? Count the chunks, which no vocabulary can go below:

# %% tags=["data"]
pattern = ladder["+ one space before"]
glued, single = (len(regex.findall(p, plays)) for p in (pattern, pattern.replace(" ?", "")))
print(f"{single:,} chunks with lone spaces, {glued:,} with the space glued to what follows")
about = {"why": "counted on fixed data", "data": "shakespeare", "stand_in": (0.6, 0.75)}
claim(glued_chunks=glued / single)

# %% [markdown]
# (Of words alone it would be about half: n words have n - 1 spaces between them.)

# %% [markdown]
# ## 5.9 The vocabularies of GPT-2 and GPT-4
#
# Now the real ones. (If their files were not found, the first cell said so; what follows is then answered from a record of the same questions.) How large are they?

# %%
for name, tokenizer in {"GPT-2": gpt2, "GPT-4": gpt4}.items():
    plain, signals = count_tokens(tokenizer, ".*"), len(tokenizer.special)
    print(f"{name}: {plain:,} tokens + {signals} special; largest id {len(tokenizer) - 1:,}")
plain = count_tokens(gpt2, ".*")
claim(gpt2_size=plain + len(gpt2.special))
plain = count_tokens(gpt4, ".*")
claim(gpt4_ranks=plain)
claim(gpt4_assigned=plain + len(gpt4.special))
claim(gpt4_largest_id=len(gpt4) - 1)

# %% [markdown]
# You will often read that GPT-4's vocabulary, called cl100k_base, has 100,277 tokens. That is its largest id plus one, what OpenAI's own package, tiktoken, returns as `n_vocab`. Sixteen ids below are no token's: 100,261 are assigned. (A table of embeddings needs a row for each id all the same.) GPT-3 uses GPT-2's vocabulary, and reads 2,048 tokens at most. All of these complete documents; to answer questions they are trained further.
#
# **A table that is often printed**, completely:
#
# | text | GPT-2's tokens | GPT-4's tokens |
# |---|---|---|
# | "dog." | "dog." | "dog", "." |
# | "dog!" | "dog!" | "dog", "!" |
# | "hello" after 4 spaces | 4 separate spaces, "hello" | one token with the spaces |
# | " world" | " world" | " world" |
#
# (In print, the four spaces before *hello* have shrunk to one.) Three of its four rows are wrong. **Predict** the right ones; you know the patterns.


# %%
def cut_by(tokenizer, text):
    return [tokenizer.token(i).decode("utf-8", "replace") for i in tokenizer.encode(text)]


for sample in ("dog.", "dog!", " hello", "    hello", " world", "dog", " dog"):
    print(f"{sample!r:12} GPT-2 {cut_by(gpt2, sample)}  GPT-4 {cut_by(gpt4, sample)}")

# %%
for name, tokenizer in (("gpt2", gpt2), ("gpt4", gpt4)):
    claim(**{f"{name}-dog-mark": len(cut_by(tokenizer, "dog."))})
    glued = count_tokens(tokenizer, " ?[A-Za-z]+[.!?]")
    claim(**{f"{name}-letters-mark": glued})
    for text_of in ("dog", " dog"):
        (id_,) = tokenizer.encode(text_of)
        claim(**{f"{name}-{text_of.replace(' ', 'space-')}": id_})

# %% [markdown]
# Both cut "dog." in two, and neither knows a single token of letters with a mark behind. *dog* and *" dog"* are different tokens, with different rows in every table.
#
# Spaces: the last one rides with the word. GPT-2 knows no token of several spaces, GPT-4 does.

# %%
lengths = {}
for name, tokenizer in {"gpt2": gpt2, "gpt4": gpt4}.items():
    lengths[name] = [len(tokenizer.encode(" " * k + "hello")) for k in (1, 2, 3, 4, 8)]
    print(f"{name}: hello after 1, 2, 3, 4, 8 spaces: {lengths[name]} tokens")
    runs, expected = count_tokens(tokenizer, " +"), {"gpt2": 1, "gpt4": 86}[name]
    claim(**{f"{name}-runs-of-spaces": runs})
claim(gpt2_spaces=lengths["gpt2"][-1])
claim(gpt4_spaces=lengths["gpt4"][-1])
assert lengths == {"gpt2": [1, 2, 3, 4, 8], "gpt4": [1, 2, 2, 2, 2]}

# %% [markdown]
# What that means for a program, which is indented:

# %%
program = "for i in range(10):\n    if i % 2:\n        print(i)\n"
spent = [len(tokenizer.encode(program)) for tokenizer in (gpt2, gpt4)]
print(f"{len(program)} characters: {spent[0]} tokens for GPT-2, {spent[1]} for GPT-4")
claim(program_tokens=spent[1] / spent[0])

# %% [markdown]
# "Punctuation is always split" is a rule with exceptions. Runs of marks stay together; an apostrophe keeps its ending; and GPT-4's pattern lets one mark lead a word. How many tokens are a mark and letters?

# %%
for sample in ("!?", "don't", "DON'T", "(self)", "numpy.array"):
    print(f"{sample!r:14} GPT-2 {cut_by(gpt2, sample)}  GPT-4 {cut_by(gpt4, sample)}")
led = [count_tokens(tokenizer, "[.!?($_/][A-Za-z]{2,}") for tokenizer in (gpt2, gpt4)]
claim(gpt2_mark_letters=led[0])
claim(gpt4_mark_letters=led[1])

# %% [markdown]
# GPT-4 is the *less* strict of the two, and code gains by it: `.com`, `(self`, `_id` are one token each.
#
# **Digits.** GPT-2 merged what was frequent: 1234567 becomes 123|45|67. GPT-4 takes three digits from the left, and knows all numbers of up to three digits: 10 + 100 + 1,000.

# %%
for sample in ("1234567", "12345678", "3.1415", "2026-11-21", "$1,234.56"):
    old, new = ("|".join(cut_by(tokenizer, sample)) for tokenizer in (gpt2, gpt4))
    print(f"{sample:12} GPT-2 {old:18} GPT-4 {new}")
digits = [count_tokens(tokenizer, "[0-9]+") for tokenizer in (gpt2, gpt4)]
claim(gpt2_digit_tokens=digits[0])
claim(gpt4_digit_tokens=digits[1])

# %% [markdown]
# Neither tells a model that 1234567 is one more than 1234566, or which digit counts the thousands: in 1234567 the *123* is more than a million, in 12345 it is twelve thousand.
#
# **Other scripts.** The same question in nine languages. **Predict**: how many tokens for each, relative to English?

# %%
questions = {
    "English": "Where is the library?",
    "German": "Wo ist die Bibliothek?",
    "Russian": "Где находится библиотека?",
    "Greek": "Πού είναι η βιβλιοθήκη;",
    "Arabic": "أين تقع المكتبة؟",
    "Hindi": "पुस्तकालय कहाँ है?",
    "Chinese": "图书馆在哪里？",
    "Japanese": "図書館はどこですか？",
    "Korean": "도서관이 어디에 있나요?",
}
price = {}
for language, question in questions.items():
    pieces = question, question.encode(), gpt2.encode(question), gpt4.encode(question)
    price[language] = [len(piece) for piece in pieces]

# %% tags=["figure", "nbval-ignore-output"]
ax = plt.subplots(figsize=(8, 4.2))[1]
marks = {"characters": "o", "bytes": "x", "tokens, GPT-2": "s", "tokens, GPT-4": "D"}
for k, (name, mark) in enumerate(marks.items()):
    counts = [row[k] for row in price.values()]
    size, fill = (12, "none") if mark == "o" else (7, "full")
    ax.plot(counts, list(price), mark, ms=size, fillstyle=fill, mew=2, label=name)
ax.set(xlabel="number", title="“Where is the library?” in nine languages", xlim=(0, None))
ax.invert_yaxis()
ax.legend()
figure("scripts", alt="Characters, bytes and tokens of one question in nine languages.")

# %%
dearer = [price["Hindi"][k] / price["English"][k] for k in (2, 3)]
claim(hindi_gpt2=dearer[0])
claim(hindi_gpt4=dearer[1])
thumbs = [len(tokenizer.encode("👍")) for tokenizer in (gpt2, gpt4)]
print("👍:", thumbs, "tokens")
claim(thumb_tokens=thumbs[1] - thumbs[0])

# %% [markdown]
# Both vocabularies were learnt from mostly English text, so others pay more tokens for the same question, those in other scripts up to several times as many: more money, less context. GPT-4's is fairer, not fair. And larger isn't always shorter: a thumb takes GPT-2 two tokens and GPT-4 three.
#
# Here is a text as three tokenizers see it: ours (1,024 tokens, learnt from the plays), GPT-2's and GPT-4's. Where a piece is no whole character, its bytes are shown. **Predict** in which of its words ours is not worse.

# %% tags=["figure", "data", "nbval-ignore-output"]
from coursekit.notebook.plot import color_tokens

ours = train_bpe(train, 1024)
sample = """def mean(rates):
    return sum(rates) / len(rates)  # 4.25% or 1234567?
DON'T panic, gentle Romeo: Zürich, 漢字, 👍 and the Steenrod problem."""
readers = {"ours": ours, "GPT-2": gpt2, "GPT-4": gpt4}
color_tokens({name: [r.token(i) for i in r.encode(sample)] for name, r in readers.items()})
figure("colours", alt="One text three times, each token on its own colour, ours cut finest.")

# %% tags=["live", "nbval-ignore-output"]
from coursekit.notebook.widgets import type_text

whole = {name: r for name, r in readers.items() if isinstance(r, BPE)}
type_text(
    lambda typed: color_tokens(
        {name: [r.token(i) for i in r.encode(typed)] for name, r in whole.items()}
    ),
    "Type here.",
)

# %% [markdown]
# ## 5.10 Thirty merges on ten sentences
#
# A classroom example of BPE starts from the *characters* of ten sentences and merges thirty times. Ours are `SENTENCES`; the sentences are the chunks, so merges may cross words.
#
# **Predict**: will *ing* or *tion* be among the thirty? Most explanations say that BPE finds such endings.

# %%
letters = Vocabulary.of("".join(data.SENTENCES))
start = [letters.encode(sentence) for sentence in data.SENTENCES]
merges, chunks = recount_and_merge(start, range(len(letters), len(letters) + 30))
spelling = dict(enumerate(letters.characters))
for (a, b), new in merges.items():
    spelling[new] = spelling[a] + spelling[b]
print([spelling[new] for new in merges.values()])

# %%
claim(letters_of_sentences=len(letters))
assert ["".join(spelling[i] for i in chunk) for chunk in chunks] == [*data.SENTENCES]
different = len(set(spelling.values()))
claim(sentence_vocabulary=different)
endings = [spelling[i] for i in merges.values() if "ing" in spelling[i] or "tion" in spelling[i]]
claim(endings_found=len(endings))
spaced = sum(" " in spelling[i] for i in merges.values())
claim(merges_with_space=spaced)

# %% [markdown]
# Neither. Thirty merges of ten sentences go to the most frequent neighbours, more than half of them with a space in them. Endings need more merges and more text. GPT-4's 100,000 merges (of bytes, not of "character pairs") do far better:

# %%
print("characters  ours  GPT-4")
for sentence, chunk in zip(data.SENTENCES, chunks, strict=True):
    print(f"{len(sentence):10} {len(chunk):5} {len(gpt4.encode(sentence)):6}  {sentence}")
totals = [sum(map(len, each)) for each in (data.SENTENCES, chunks)]
totals.append(sum(len(gpt4.encode(sentence)) for sentence in data.SENTENCES))
print(totals, gpt4.encode(data.SENTENCES[0]))

# %%
claim(sentence_characters=totals[0])
claim(sentence_tokens=totals[1])
claim(sentence_gpt4_tokens=totals[2])

# %% [markdown]
# ## 5.11 How large should a vocabulary be?
#
# Larger means fewer tokens for the same text: the model reads further with the same context and predicts fewer times. **Predict** the curve of tokens per character, from 256 to 8,192 tokens. And what does a token more cost?

# %% tags=["data"]
full, sizes = train_bpe(train, 8192), [256, 512, 1024, 2048, 4096, 8192]
by_rank = list(full.ranks.items())  # a smaller vocabulary is the beginning of a larger one
rate, rare = [], []
for V in sizes:
    cut_down = BPE(dict(by_rank[:V]), pattern=full.pattern)
    rate.append(len(cut_down.encode(held_out)) / len(held_out))
    seen = torch.bincount(torch.tensor(cut_down.encode(train)), minlength=V)[256:]
    rare.append((seen < 100).double().mean().item() if V > 256 else 0.0)
    print(f"V {V:5}: {rate[-1]:.4f} tokens a character, {rare[-1]:4.0%} of merges seen < 100 times")

# %% tags=["figure", "nbval-ignore-output"]
left, right = plt.subplots(1, 2, figsize=(9.5, 3.8))[1]
left.plot(sizes, rate, "o-")
left.axhline(36059 / 111540, color="black", linestyle=":", linewidth=1.4)
left.text(256, 0.31, "GPT-2 on tiny Shakespeare\n(published)", fontsize=9, va="top")
right.plot(sizes, [128 * V / 1e6 for V in sizes], "o-", label="table: 128 numbers a token")
right.axhline(4 * 12 * 128**2 / 1e6, color="black", linestyle=":", label="4 blocks of a small GPT")
right.legend()
for ax, what in {left: "tokens per character", right: "millions of parameters"}.items():
    ax.set_xscale("log", base=2)
    ax.set_xticks(sizes, sizes)
    ax.set(xlabel="vocabulary size V", ylabel=what, ylim=(0, 1.1))
figure("size", alt="Tokens per character fall ever more slowly with V; table rows grow with V.")

# %% tags=["data"]
about = {"why": "arithmetic on fixed data", "data": "shakespeare"}
claim(rate_512=rate[1])
claim(rate_8192=rate[-1])
falls = [a - b for a, b in pairwise(rate)]
claim(rate_falls=min(falls))
claim(rare_8192=rare[-1])

# %% [markdown]
# Each doubling buys less than the one before. The price is a row of numbers for each token in the table of embeddings (and one in the last layer, unless they share). A small GPT, as notebook 6 builds, has 128 numbers a token and four blocks of about 12 · 128² weights: at V = 8,192 the table outweighs the whole rest. And most of these rows belong to tokens that a million characters show fewer than a hundred times: little to learn from. (GPT-2 on the same text does worse than our 4,096: its vocabulary was learnt elsewhere.)
#
# And the endings that thirty merges of ten sentences missed?

# %% tags=["data"]
for ending in ("ing", "tion"):
    tokens = [token for token, _ in by_rank[256:] if token.endswith(ending.encode())]
    first = full.ranks[tokens[0]] - 255
    print(f"{len(tokens)} tokens end in {ending}, the first is {tokens[0]}, merge {first}")
    counted, band = {"ing": (189, (250, 420)), "tion": (60, (130, 240))}[ending]
    about = {"why": "counted on fixed data", "data": "shakespeare", "stand_in": band}
    claim(**{f"tokens-in-{ending}": len(tokens)})

# %% [markdown]
# That is the balance: a large vocabulary expresses frequent patterns in few tokens, a small one has each token seen often. The published ones have 50,000 to 100,000 tokens, for billions of words.
#
# An embedding of our 300 tokens, to see the shapes:

# %%
ids = bpe.encode("A closed surface")
vectors = nn.Embedding(len(bpe), 5)(torch.tensor(ids))
print(ids, tuple(vectors.shape))
assert vectors.shape == (len(ids), 5)
claim(embedded_tokens=len(vectors))
claim(embedded_largest_id=max(ids))

# %% [markdown]
# ## 5.12 Interest rates as tokens
#
# A model of tokens can read numbers too, once they are tokens. Take an interest rate. We make one up: day after day it is pulled back towards 1 % and pushed by about 3 hundredths of a percent at random.

# %%
generator = torch.Generator().manual_seed(42)
pushes = 0.03 * torch.randn(4999, generator=generator, dtype=torch.float64)
rates = [1.0]
for push in pushes.tolist():
    rates.append(rates[-1] + 0.002 * (1.0 - rates[-1]) + push)
rates = torch.tensor(rates, dtype=torch.float64)

# %% [markdown]
# Restrict it to 0 % … 5 % and round to a **basis point**, a hundredth of a percent. (Two decimals of a percent and basis points are sometimes offered as alternatives. They are the same.)
#
# **Predict**: how many tokens is that? How large can the error be, and when is it larger?

# %% tags=["shown"]
from coursekit.tokens.numbers import Grid

show(Grid)

# %%
grid = Grid(low=0, high=5, step=0.01)
levels = grid.encode(rates)
error = (grid.decode(levels) - rates).abs()
inside = (rates >= 0) & (rates <= 5)
print(f"{grid.clipped(rates):.1%} beyond the range, largest error there {error[~inside].max():.2f}")
claim(grid_size=len(grid))
claim(grid_error=error[inside].max())
claim(grid_clipped=grid.clipped(rates))

# %% [markdown] tags=["exercise"]
# > **Exercise 5.** Write `quantise_rates(rates)`: a tensor of rates in percent to the ids of their basis points, 0 % to 5 %; rates beyond get the first or the last id. Check: `check_quantise_rates`.
# >
# > <details><summary>Hint 1</summary>In a computer 100 · 0.29 is 28.999999999999996. What does <code>.long()</code> make of it?</details>
# > <details><summary>Hint 2</summary><code>round</code>, <code>clamp(0, 500)</code>, <code>long</code>.</details>


# %% tags=["stub"]
def quantise_rates(rates): ...


# %% tags=["check"]
exercises.check_quantise_rates(quantise_rates)


# %% tags=["solution"]
def quantise_rates(rates):
    return (100 * rates).round().clamp(0, 500).long()


# %% [markdown]
# 501 tokens aren't many; no compression is needed to keep the vocabulary small, as is sometimes said. BPE would *enlarge* it, and shorten the sequence. Fifty merges on the sequence of levels:

# %%
merges, (short,) = recount_and_merge([levels.tolist()], range(len(grid), len(grid) + 50))
spelling = {i: (i,) for i in range(len(grid))}  # the levels that each token stands for
for (a, b), new in merges.items():
    spelling[new] = spelling[a] + spelling[b]
assert [level for i in short for level in spelling[i]] == levels.tolist()
different = len(set(spelling.values()))
print(f"{len(levels)} → {len(short)} tokens, vocabulary {len(grid)} → {different}")
claim(rates_merged=len(short))
claim(rates_vocabulary=different)

# %% [markdown]
# What makes the vocabulary small is **differencing**: tokens for the change since yesterday. A rate may stand anywhere between 0 % and 5 %, but it moves by a few basis points. Nothing is lost, given the first level:

# %%
changes = levels.diff()
symbols = changes.unique()
assert torch.cat([levels[:1], changes]).cumsum(0).equal(levels)
print(f"{len(levels.unique())} of the levels occur; {len(symbols)} different changes")
claim(rate_changes=len(symbols))
merges, (moves,) = recount_and_merge([(changes - changes.min()).tolist()], range(100, 150))

# %% [markdown]
# A third way is to write the number down, digit by digit: 12 symbols for everything, five tokens a day. All ways side by side; the last column is the **entropy** of the tokens, $-\sum p \ln p$ with $p$ the share of each, times tokens a day. That is the loss of a model that knows nothing but how frequent each token is (the unigram of notebook 1).

# %%
written = "\n".join(f"{rate:.2f}" for rate in grid.decode(levels).tolist())
ways = {
    "levels": levels.tolist(),
    "levels, 50 merges": short,
    "changes": changes.tolist(),
    "changes, 50 merges": moves,
    "digits": list(written),
    "digits, 50 merges": train_bpe(written, 306, pattern=None).encode(written),
}
for name, ids in ways.items():
    shares = torch.tensor(list(Counter(ids).values())) / len(ids)
    nats = -(shares * shares.log()).sum() * len(ids) / len(levels)
    print(f"{name:20} {len(set(ids)):4} different, {len(ids):6} in all, {nats:5.2f} nats a day")

# %% tags=["figure", "nbval-ignore-output"]
above, below = plt.subplots(2, 1, figsize=(8, 5.5))[1]
above.plot(rates, lw=0.8, label="rate")
above.axhspan(-1, 0, color="0.88", label="clipped")
above.set(xlabel="day", ylabel="rate (%)", ylim=(-0.6, 3))
above.legend(loc="upper left")
below.hist(levels.tolist(), bins=range(502), label="levels", histtype="stepfilled")
below.hist(changes.tolist(), bins=range(-15, 16), label="changes", histtype="step", lw=2)
below.set(xlabel="token (basis points)", ylabel="days", yscale="log", xlim=(-15, 215))
below.legend()
figure(
    "rates", alt="A wandering rate; levels spread over nearly two hundred tokens, changes over 22."
)

# %% [markdown]
# Levels spread their days over nearly two hundred tokens, changes over some twenty, the common ones seen hundreds of times. For a model, changes are easier to learn, and a level that never occurred is no obstacle. What they can't say by themselves is where the rate stands. Notebook 4 met the same choice: prices or returns.
#
# ## What you now have
#
# - Vocabularies of characters and words that say what they don't know, in an order that lasts; signals that no text can forge.
# - Bytes, which lose nothing, and byte pair encoding, which makes them short: by hand, by the book and fast.
# - The cut before the merges, rule by rule, and the two published vocabularies as they are, not as they are told.
# - A measure for vocabulary size: tokens per character against rows to learn.
# - Numbers as tokens: a grid and its error, differences, digits.
#
# **Next**: notebook 6 builds the model that reads these tokens, a GPT.
