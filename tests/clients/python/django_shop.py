"""A small shop on Django, with ATOMIC_REQUESTS, over PyMySQL, called as a WSGI server calls it: once with a
connection for each request, as it comes, and once with connections that are kept.

usage: django_shop.py HOST PORT USER PASSWORD DATABASE
"""

import io
import json
import sys

import pymysql

pymysql.install_as_MySQLdb()

import django  # noqa: E402
from django.conf import settings  # noqa: E402

host, port, user, password, database = sys.argv[1:6]
settings.configure(
    ROOT_URLCONF=__name__,
    ALLOWED_HOSTS=["*"],
    SECRET_KEY="not kept",
    USE_TZ=True,
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.mysql",
            "HOST": host,
            "PORT": port,
            "USER": user,
            "PASSWORD": password,
            "NAME": database,
            # A context of TLS takes PyMySQL longer than all pages together.
            "OPTIONS": {"ssl_disabled": True},
            "ATOMIC_REQUESTS": True,
        }
    },
)
django.setup()

from django.core.handlers.wsgi import WSGIHandler  # noqa: E402
from django.db import connection, models, transaction  # noqa: E402
from django.http import JsonResponse  # noqa: E402
from django.urls import path  # noqa: E402

from counted import Counter, expect, repeat  # noqa: E402

reads = 0


class Author(models.Model):
    name = models.CharField(max_length=80, db_index=True)

    class Meta:
        app_label = "shop"


class Book(models.Model):
    title = models.CharField(max_length=120)
    price = models.DecimalField(max_digits=9, decimal_places=2)
    stock = models.IntegerField()
    added = models.DateTimeField(auto_now_add=True)
    author = models.ForeignKey(Author, models.CASCADE, related_name="books")

    class Meta:
        app_label = "shop"


class Review(models.Model):
    stars = models.IntegerField()
    body = models.TextField()
    book = models.ForeignKey(Book, models.CASCADE, related_name="reviews")

    class Meta:
        app_label = "shop"


def stars(book):
    seen = book.reviews.aggregate(count=models.Count("id"), sum=models.Sum("stars"))
    return [seen["count"], seen["sum"]]


def book_view(_request, number):
    book = Book.objects.get(pk=number)
    return JsonResponse({"title": book.title, "price": book.price, "stock": book.stock, "author": book.author.name, "stars": stars(book)})


def list_view(_request):
    books = Book.objects.filter(stock__gt=0).order_by("title")
    return JsonResponse({"count": books.count(), "books": [book.title for book in books[:5]]})


def join_view(_request, name):
    books = Book.objects.select_related("author").filter(author__name=name).order_by("id")
    return JsonResponse({"books": [[book.title, book.author.name] for book in books]})


def author_view(_request, number):
    author = Author.objects.prefetch_related("books").get(pk=number)
    return JsonResponse({"name": author.name, "books": [book.title for book in author.books.all()]})


def review_view(_request, number):
    """Sells one and takes a review, in a savepoint of the request's transaction, and shows both at once."""
    with transaction.atomic():
        book = Book.objects.select_for_update().get(pk=number)
        before = stars(book)
        book.stock -= 1
        book.save()
        Review.objects.create(stars=3, body="naïve", book=book)
        expect("inside", stars(book), [before[0] + 1, before[1] + 3])
    expect("stock after", Book.objects.get(pk=number).stock, book.stock)
    return JsonResponse({"stock": book.stock, "stars": stars(book)})


urlpatterns = [
    path("book/<int:number>", book_view),
    path("list", list_view),
    path("join/<str:name>", join_view),
    path("author/<int:number>", author_view),
    path("review/<int:number>", review_view),
]


def count_read(execute, sql, params, many, context):
    global reads
    reads += sql.startswith("SELECT")
    return execute(sql, params, many, context)


def request(handler, url):
    environ = {
        "REQUEST_METHOD": "GET", "PATH_INFO": url, "SERVER_NAME": "shop", "SERVER_PORT": "80",
        "wsgi.url_scheme": "http", "wsgi.input": io.BytesIO(), "wsgi.errors": sys.stderr,
    }
    status = []
    answer = handler(environ, lambda line, _headers: status.append(line))
    body = b"".join(answer)
    answer.close()
    if not status[0].startswith("200"):
        print("STALE", url, status[0], body[:300])
    return json.loads(body)


def visit(handler):
    global reads
    before = reads
    for number in range(1, 6):
        request(handler, f"/book/{number}")
    request(handler, "/list")
    request(handler, "/join/Author 1")
    request(handler, "/author/2")
    return reads - before


def form(handler, number):
    seen = request(handler, f"/review/{number}")
    page = request(handler, f"/book/{number}")
    expect("page", {key: page[key] for key in seen}, seen)


def run(name, counter, seconds):
    connection.close()
    connection.settings_dict["CONN_MAX_AGE"] = seconds
    connection.settings_dict["CONN_HEALTH_CHECKS"] = seconds > 0
    handler = WSGIHandler()
    for number in range(1, 6):
        visit(handler)
        form(handler, number)
    repeat(name, counter, lambda: visit(handler))
    for _ in range(5):
        form(handler, 2)


counter = Counter(host, int(port), user, password)
counter.run(f"DROP DATABASE IF EXISTS {database}", f"CREATE DATABASE {database} CHARACTER SET utf8mb4")
with connection.schema_editor() as editor:
    for model in (Author, Book, Review):
        editor.create_model(model)
with transaction.atomic():
    Author.objects.bulk_create(Author(id=number, name=f"Author {number % 3}") for number in range(1, 4))
    Book.objects.bulk_create(Book(id=number, title=f"Book {number:02}", price="9.90", stock=1000, author_id=number % 3 or 3)
                             for number in range(1, 11))
    Review.objects.bulk_create(Review(stars=number % 5, body="x", book_id=number % 10 + 1) for number in range(40))
connection.execute_wrappers.append(count_read)
run("a connection for each request", counter, 0)
run("connections that are kept", counter, 60)
connection.close()
counter.run(f"DROP DATABASE {database}")
counter.connection.close()
print("done")
